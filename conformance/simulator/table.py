"""The support table: what each simulated release does with ops, dtypes and graphs. Read from TOML, without torch."""

import hashlib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

import msgspec

from conformance.errors import UsageError

TABLE: Final = "CONFORMANCE_SIM_TABLE"
"""Variable with the path of another table than the shipped one."""

_SHIPPED: Final = Path(__file__).parent / "tables" / "sim.toml"


class Mode(IntEnum):
    """What the device does with an op. The numbers are shared with src/policy.h."""

    NATIVE = 0
    FALLBACK = 1
    REFUSED = 2
    FAILING = 3
    UNTRACKED = 4
    WRONG = 5


DTYPE_BITS: Final[Mapping[str, int]] = {
    "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
    "complex32": 8, "complex64": 9, "complex128": 10, "bool": 11, "bfloat16": 15, "float8_e5m2": 23,
    "float8_e4m3fn": 24, "float8_e5m2fnuz": 25, "float8_e4m3fnuz": 26, "uint16": 27, "uint32": 28, "uint64": 29,
}  # fmt: skip
"""Bit of each dtype, the value of c10::ScalarType (c10/core/ScalarType.h)."""
ALL: Final = 2**64 - 1
"""The bits of every dtype."""


class Release(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A simulated release, oldest first in the file."""

    name: str
    summary: str


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happens to ops with an argument of one of the dtypes; no ops or dtypes: all. Base names without `aten::`."""

    mode: str
    reason: str
    ops: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()


class Refusal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A graph that the compiler refuses because of an op, with a documented code and text."""

    code: str
    text: str
    reason: str
    ops: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()


class Tiled(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ops that are written out tile by tile, with the functions that they are given.

    An op's first two arguments are queries (batch, heads, queries, width) and keys; its scores are cut into tiles of
    `tile` by `tile`. Each tile takes `seconds`, and as much again for every operation of the functions.
    """

    ops: tuple[str, ...]
    tile: int
    seconds: float
    reason: str
    releases: tuple[str, ...] = ()


class Compiler(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The compiler's limits and the model of its time (seconds = base + node × nodes; a warm start costs `warm`)."""

    most_nodes: int
    most_bytes: int
    seconds_base: float
    seconds_node: float
    seconds_warm: float
    refuse: tuple[Refusal, ...] = ()
    tiled: tuple[Tiled, ...] = ()


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table as written."""

    release: tuple[Release, ...]
    compiler: Compiler
    entry: tuple[Entry, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """The table of one release. `digest` changes with anything that could change an answer of it."""

    release: str
    entries: tuple[Entry, ...]
    compiler: Compiler
    digest: str

    def rules(self) -> Iterator[tuple[str, int, Mode, str]]:
        """(base name or "", dtype bits, mode, text) in order of precedence."""
        for entry in self.entries:
            for op in entry.ops or ("",):
                yield op, bits(entry.dtypes), Mode[entry.mode.upper()], entry.reason

    def wholly(self) -> Mapping[str, Mode]:
        """By base name the mode of ops that have the same one for every dtype."""
        modes: dict[str, set[Mode]] = {}
        closed: set[str] = set()
        for op, dtypes, mode, _ in self.rules():
            if op and op not in closed:
                modes.setdefault(op, set()).add(mode)
                closed |= {op} if dtypes == ALL else set()
        return {op: next(iter(found)) for op, found in modes.items() if op in closed and len(found) == 1}

    def refusals(self) -> tuple[Refusal, ...]:
        """What the compiler of this release refuses."""
        return tuple(each for each in self.compiler.refuse if _holds(each.releases, self.release))

    def tiled(self, op: str) -> Tiled | None:
        """How the compiler of this release writes out an op, by base name; None for an op that is one operation."""
        found = (each for each in self.compiler.tiled if op in each.ops and _holds(each.releases, self.release))
        return next(found, None)


def bits(dtypes: tuple[str, ...]) -> int:
    """The bits of some dtypes; of none, all."""
    if not dtypes:
        return ALL
    whole = 0
    for dtype in dtypes:
        whole |= 1 << DTYPE_BITS[dtype]
    return whole


def path() -> Path:
    """The table in force: the shipped one, or the one that CONFORMANCE_SIM_TABLE names."""
    return Path(os.environ.get(TABLE) or _SHIPPED)


def read(file: Path) -> File:
    """Read and check a table. Raises UsageError with the file and the entry that is wrong."""
    try:
        content = msgspec.convert(tomllib.loads(file.read_text()), File)
    except OSError as error:
        raise UsageError(f"the support table {file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(f"the support table {file} is broken: {error}") from error
    for number, entry in enumerate(content.entry, 1):
        _check(f"entry {number} ({', '.join(entry.ops) or 'every op'}) of the support table {file}", entry, content)
    for number, each in enumerate(content.compiler.refuse, 1):
        _check(f"compiler.refuse {number} ({each.code}) of the support table {file}", each, content)
    for number, tiled in enumerate(content.compiler.tiled, 1):
        _check(f"compiler.tiled {number} ({', '.join(tiled.ops)}) of the support table {file}", tiled, content)
        if tiled.tile < 1:
            raise UsageError(
                f"compiler.tiled {number} of the support table {file} has tiles of {tiled.tile}: at least 1"
            )
    return content


def _check(where: str, entry: Entry | Refusal | Tiled, file: File) -> None:
    known = {
        "release": (entry.releases, [each.name for each in file.release]),
        "dtype": (() if isinstance(entry, Tiled) else entry.dtypes, list(DTYPE_BITS)),
        "mode": ((entry.mode,) if isinstance(entry, Entry) else (), [each.name.lower() for each in Mode]),
    }
    for what, (given, choices) in known.items():
        for value in given:
            if value not in choices:
                raise UsageError(f"{where} names the unknown {what} {value!r}: choose one of {', '.join(choices)}")
    if not entry.reason.strip():
        raise UsageError(f"{where} has an empty reason: say why the device does this")


def releases() -> tuple[str, ...]:
    """Names of the simulated releases, oldest first."""
    return tuple(each.name for each in read(path()).release)


def load(release: str) -> Table:
    """The table of one release. Raises UsageError for an unknown release or a broken table."""
    file = path()
    content = read(file)
    known = [each.name for each in content.release]
    if release not in known:
        raise UsageError(f"unknown simulated release {release!r}: choose one of {', '.join(known)}")
    entries = tuple(each for each in content.entry if _holds(each.releases, release))
    digest = hashlib.sha256(release.encode() + file.read_bytes()).hexdigest()
    return Table(release=release, entries=entries, compiler=content.compiler, digest=digest)


def _holds(releases_of: tuple[str, ...], release: str) -> bool:
    return not releases_of or release in releases_of
