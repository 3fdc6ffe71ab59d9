"""The 96 cases as data: `cases.toml`, and what a run keeps of each beside its plan."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from conformance.errors import UsageError
from conformance.outcomes import TestId
from conformance.plan import FLEX

SUITE: Final = FLEX


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers of one call. Queries are (batch, heads, queries, width), keys (batch, kv_heads, keys, width), values
    (batch, kv_heads, keys, value_width); `heads` is a multiple of `kv_heads`.
    """

    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    width: int
    value_width: int

    @property
    def words(self) -> str:
        """As it stands in an identity: `B2-H8-KV2-Q1-K512-D64`."""
        shared = f"-KV{self.kv_heads}" if self.kv_heads != self.heads else ""
        length = f"S{self.keys}" if self.queries == self.keys else f"Q{self.queries}-K{self.keys}"
        values = f"-V{self.value_width}" if self.value_width != self.width else ""
        return f"B{self.batch}-H{self.heads}{shared}-{length}-D{self.width}{values}"


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One planned test: what is asked, and under which limit it is compiled.

    `shapes` are called one after the other by one function, compiled with sizes as variables when `dynamic`.
    `transposed`: inputs are views of (batch, length, heads, width). `plain`: no block mask is given.
    `extended`: PyTorch's list of devices for FlexAttention is extended by the device before it is asked.
    """

    group: str
    variant: str
    mods: str
    dtype: str
    shapes: tuple[Shape, ...]
    compile_limit: float
    backward: bool = False
    dynamic: bool = False
    logsumexp: bool = False
    transposed: bool = False
    plain: bool = False
    extended: bool = False

    @property
    def id(self) -> TestId:
        """The identity; whether the list is extended is no part of it, but of the definition."""
        sizes = "+".join(each.words for each in self.shapes)
        return TestId(
            suite=SUITE, file=self.group, cls=self.variant, name=f"{sizes}_{self.dtype}", op=SUITE,
            variant=self.variant, dtype=self.dtype, kind="backward" if self.backward else "forward",
        )  # fmt: skip


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every combination of variants, dtypes and shapes."""

    name: str
    variants: tuple[str, ...]
    dtypes: tuple[str, ...]
    shapes: tuple[str, ...]
    backward: bool = False
    transposed: bool = False

    def cases(self, file: "File") -> Iterator[Case]:
        """The combinations, shapes changing fastest."""
        for variant in self.variants:
            for dtype in self.dtypes:
                for shape in self.shapes:
                    yield Case(
                        group=self.name, variant=variant, mods=variant, dtype=dtype, shapes=(file.shapes[shape],),
                        compile_limit=file.compile_limit, backward=self.backward, transposed=self.transposed,
                    )  # fmt: skip


class Extra(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One case of its own."""

    variant: str
    mods: str = ""
    dtype: str = "float32"
    shapes: tuple[str, ...] = ("short",)
    dynamic: bool = False
    logsumexp: bool = False
    plain: bool = False

    def case(self, file: "File") -> Case:
        """The case."""
        return Case(
            group="extra", variant=self.variant, mods=self.mods or self.variant, dtype=self.dtype,
            shapes=tuple(file.shapes[each] for each in self.shapes), compile_limit=file.compile_limit,
            dynamic=self.dynamic, logsumexp=self.logsumexp, plain=self.plain,
        )  # fmt: skip


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contents of cases.toml. `compile_limit` is in seconds."""

    compile_limit: float
    shapes: Mapping[str, Shape]
    group: tuple[Group, ...]
    extra: tuple[Extra, ...]


@cache
def shipped() -> tuple[Case, ...]:
    """Every case in the order of the file."""
    file = msgspec.toml.decode((files("sweeps.flex") / "cases.toml").read_bytes(), type=File)
    grouped = (case for group in file.group for case in group.cases(file))
    return (*grouped, *(each.case(file) for each in file.extra))


def write(path: Path, cases: Mapping[str, Case]) -> None:
    """Write cases by key, so that the file is whole or absent."""
    partial = path.with_suffix(".partial")
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(cases), indent=1) + b"\n")
    partial.replace(path)


def read(path: Path) -> dict[str, Case]:
    """The cases of a run by key. Raises UsageError when the file is not there or broken."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Case])
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{path} cannot be read as cases of {SUITE}: {error}; plan the run again") from error
