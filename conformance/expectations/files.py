"""Coverage and expectation files on disk: which there are, and their entries. Broken ones are refused by name."""

import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from conformance.errors import UsageError
from conformance.expectations.coverage import Coverage
from conformance.expectations.entries import EXPECT, SKIP, Conditions, Entry, File, problems

FOLDER: Final = Path(__file__).parents[1] / "coverage"
"""Where the shipped files are."""
LARGEST: Final = 64 << 20
"""Bytes of a file that is read at all: the longest list known from elsewhere has 3.5 MB."""

_NAMES: Final = {"trn2": "neuron.toml", "trn3": "neuron.toml"}


def shipped(target: str) -> Path | None:
    """The shipped file of a target; None for a target that claims everything."""
    path = FOLDER / _NAMES.get(target, f"{target}.toml")
    # The name may be that of a stored run, which comes from anywhere.
    return path if path.parent == FOLDER and path.is_file() else None


def today() -> date:
    """The day by which entries expire: UTC, as every time of a run."""
    return datetime.now(UTC).date()


def conditions(release: str, *, torch: str | None = None, day: date | None = None) -> Conditions:
    """What entries are read under; the installed torch and the present day where not given."""
    return Conditions(release=release, torch=torch or version("torch"), today=day or today())


def read(path: Path) -> bytes:
    """A file's bytes. Raises UsageError when it is not there, not a file or too large."""
    try:
        if not path.is_file():
            raise UsageError(f"there is no expectation file {str(path)!r}: give the path of a TOML file")
        if (size := path.stat().st_size) > LARGEST:
            raise UsageError(f"{str(path)!r} has {size:,} bytes: more than {LARGEST:,} are not read, split it")
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """An entry where it is written: the file, its section and its place among the section's entries, from 0."""

    path: Path
    section: str
    place: int
    entry: Entry


def parse(path: Path, data: bytes) -> list[Written]:
    """The entries of a file. Raises UsageError with the file and the entry that is wrong."""
    try:
        file = msgspec.convert(tomllib.loads(data.decode()), File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the coverage file {path} is broken: {one_line(error)}") from error
    sections = ((SKIP, file.skip), (EXPECT, file.expect))
    found = [
        Written(path=path, section=section, place=place, entry=entry)
        for section, entries in sections
        for place, entry in enumerate(entries)
    ]
    for each in found:
        for clause in problems(each.section, each.entry):
            raise UsageError(f"entry {each.entry.id!r} of the coverage file {path} {clause}")
    return found


def one_line(error: BaseException) -> str:
    """An exception's text without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__


def require_own_ids(entries: Sequence[Written]) -> None:
    """Raise UsageError when two entries have one id: outcomes name their entry by it."""
    seen = dict[str, Path]()
    for each in entries:
        before = seen.setdefault(each.entry.id, each.path)
        if before != each.path:
            raise UsageError(
                f"the coverage files {before} and {each.path} share the id {each.entry.id!r}: give each entry its own"
            )
    for path in dict.fromkeys(seen.values()):
        ids = Counter(each.entry.id for each in entries if each.path == path)
        name, number = ids.most_common(1)[0]
        if number > 1:
            raise UsageError(f"the coverage file {path} has the id {name!r} twice: give each entry its own")


def in_force(entries: Iterable[Written], found: Conditions, *, probe: bool = False) -> Coverage:
    """The entries that hold, in their order."""
    own = [each for each in entries if found.in_range(each.entry)]
    holding = [each for each in own if not found.expired(each.entry)]
    return Coverage(
        skips=tuple(each.entry for each in holding if each.section == SKIP),
        expects=tuple(each.entry for each in holding if each.section == EXPECT),
        expired=tuple(each.entry for each in own if found.expired(each.entry)), probe=probe,
    )  # fmt: skip


@lru_cache(maxsize=16)
def parsed(path: Path, _stamp: tuple[int, int]) -> tuple[Written, ...]:
    """A file's entries, kept as long as the file is what it was."""
    return tuple(parse(path, read(path)))


def stamp(path: Path) -> tuple[int, int]:
    """Nanoseconds of the last change and bytes of a file; nothing when there is none."""
    try:
        found = path.stat()
    except OSError:
        return (0, -1)
    return (found.st_mtime_ns, found.st_size)
