"""Names of upstream tests as lists keep them, taken apart without loss: `test_add_npu_int8 (__main__.TestCommonNPU)`.

Three forms are read: unittest's `test (module.Class)`, pytest's `file::Class::test`, and a bare name.
"""

import contextlib
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from typing import Final

from conformance.errors import UsageError

DEVICES: Final = (
    "cpu", "cuda", "hpu", "lazy", "meta", "mps", "mtia", "neuron", "npu", "privateuse1", "xla", "xpu",
)  # fmt: skip
"""Devices whose names are known in tests: those of torch.testing._internal.common_device_type (torch 2.13), and the
names that three backends give to its PrivateUse1."""

DTYPES: Final = (
    "float8_e4m3fnuz|float8_e4m3fn|float8_e5m2fnuz|float8_e5m2|float8_e8m0fnu|float4_e2m1fn_x2|bfloat16|float16|float32"
    "|float64|complex32|complex64|complex128|uint8|uint16|uint32|uint64|int8|int16|int32|int64|bool|quint8|qint8|qint32"
    "|quint4x2|quint2x4"
)
"""A pattern for the dtypes that names end in."""
DTYPE_TAIL: Final = rf"(?P<dtypes>(?:_(?:{DTYPES}))*)"

LONGEST: Final = 2_000
"""Characters of a name; the longest of PyTorch's own have about 300."""

_UNITTEST = re.compile(r"(?P<test>[^\s(]+) \((?P<where>\S+)\)")
_NODE = re.compile(r"(?P<file>[^:\s]+)::(?:(?P<cls>[^:\s]+)::)?(?P<test>[^:\s].*)")
_BARE = re.compile(r"(?P<test>\S+)")
_PRIVATE: Final = "PRIVATEUSE1"
_AFTER_OP: Final = ("_Sparse", "_Strided", "_executor_", "_layout")
"""What may follow an op in a name: the parameters that PyTorch's tests put between op and device."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """A test's name in parts; `str` gives back the text that it was read from.

    `cls` and `name` are without the device, as in identities, where `device` tells it: the word in the name, with
    `suffix` the one of the class. Both are "" for a test that was not made for a device, which keeps its name whole.
    `module` is the module or file as listed. `op`, `variant` and `kind` are "" where the name alone does not tell.
    """

    form: str
    module: str
    cls: str
    name: str
    device: str = ""
    suffix: str = ""
    dtype: str = ""
    op: str = ""
    variant: str = ""
    kind: str = ""

    def __str__(self) -> str:
        """The text that was parsed."""
        tail = f"_{self.dtype}" if self.dtype else ""
        test = f"{self.name.removesuffix(tail)}_{self.device}{tail}" if self.device else self.name
        return self.form.format(module=self.module, cls=self.cls + self.suffix, test=test)


def parse(text: str, *, devices: Collection[str] = (), ops: Mapping[str, tuple[str, str]] | None = None) -> Listed:
    """Take a listed name apart. Raises UsageError for a text that is no test's name.

    `devices` are further names of devices. `ops` maps names as PyTorch puts them into tests to op and variant
    (`ops_of_torch` gives those of the installed one); without, no op is told.
    """
    form, module, cls, test = _split(text)
    found = Listed(form=form, module=module, cls=cls, name=test)
    for suffix in _suffixes(cls, devices):
        wanted = (*DEVICES, *devices) if suffix == _PRIVATE else (suffix.lower(),)
        words = "|".join(re.escape(each) for each in wanted if suffix != _PRIVATE or each != "cpu")
        match = re.fullmatch(rf"(?P<head>.*)_(?P<device>{words}){DTYPE_TAIL}", test)
        if match:
            found = Listed(
                form=form, module=module, cls=cls.removesuffix(suffix), name=match["head"] + match["dtypes"],
                device=match["device"], suffix=suffix, dtype=match["dtypes"].removeprefix("_"),
                **_op(cls.removesuffix(suffix), match["head"], ops or {}),
            )  # fmt: skip
            break
    return found


def _split(text: str) -> tuple[str, str, str, str]:
    """Form, module, class and test."""
    if len(text) <= LONGEST and text.isprintable():
        if match := _UNITTEST.fullmatch(text):
            module, cls, repeated = _of_dotted(match["where"], match["test"])
            form = "{test} ({module}{cls}.{test})" if repeated else "{test} ({module}{cls})"
            return form, module, cls, match["test"]
        if match := _NODE.fullmatch(text):
            form = "{module}::{cls}::{test}" if match["cls"] else "{module}::{test}"
            return form, match["file"], match["cls"] or "", match["test"]
        if match := _BARE.fullmatch(text):
            return "{test}", "", "", match["test"]
    raise UsageError(f"{text[:80]!r} is no test's name: give it as `test (module.Class)` or `file::Class::test`")


def _of_dotted(where: str, test: str) -> tuple[str, str, bool]:
    """Module with its dot, class, and whether the test's name was repeated, as unittest does since Python 3.11.

    A class may have a dot in its name, from a parameter; modules of PyTorch's tests are in lower case.
    """
    repeated = where.endswith(f".{test}")
    parts = where.removesuffix(f".{test}").split(".")
    first = next((place for place, part in enumerate(parts) if part != part.lower()), len(parts) - 1)
    return "".join(f"{each}." for each in parts[:first]), ".".join(parts[first:]), repeated


def _suffixes(cls: str, devices: Collection[str]) -> list[str]:
    known = dict.fromkeys(each.upper() for each in (*DEVICES, *devices))
    return [each for each in known if cls.endswith(each) and cls != each]


def _op(cls: str, head: str, ops: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """The op of a test by the table of those that are made once an op; nothing where the rest is no op's name."""
    kinds = [each for each in _kinds_of(cls) if head.startswith(f"{each}_")] if ops else []
    for kind in sorted(kinds, key=len, reverse=True):
        rest = head.removeprefix(f"{kind}_")
        places = [rest.find(each) for each in _AFTER_OP if each in rest]
        name = next((each for each in (rest, rest[: min(places, default=0)]) if each in ops), "")
        if name:
            op, variant = ops[name]
            return {"op": op, "variant": variant, "kind": kind}
    return {}


@cache
def _kinds_of(cls: str) -> tuple[str, ...]:
    """The class' functions that are made once an op; a class made with parameters is found by its beginning."""
    table = _table()
    named = max((each for each in table if cls == each or cls.startswith(f"{each}_")), key=len, default="")
    return tuple(table.get(named, ()))


@cache
def _table() -> Mapping[str, list[str]]:
    source = resources.files("conformance.pytest_hooks").joinpath("op_tests.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


_DATABASES: Final = ("common_methods_invocations", "hop_db", "custom_op_db", "autograd_function_db")
"""Modules of torch.testing._internal with lists of OpInfo (torch 2.13)."""


def ops_of_torch() -> dict[str, tuple[str, str]]:
    """Op and variant by the name that PyTorch puts into tests, of the installed torch; imports it, about 3 s."""
    from torch.testing._internal.opinfo.core import OpInfo

    found: dict[str, tuple[str, str]] = {}
    for name in _DATABASES:
        with contextlib.suppress(ImportError):
            module = import_module(f"torch.testing._internal.{name}")
            infos = [each for known in vars(module).values() if isinstance(known, list) for each in known]
            found |= {
                each.formatted_name: (each.name, each.variant_test_name) for each in infos if isinstance(each, OpInfo)
            }
    return found
