"""TOML files whose mistakes are told with their line: what is unknown and what is wrong in a table."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from conformance.errors import UsageError

LARGEST: Final = 4 << 20
"""Bytes of a file that is read at all."""

Check: TypeAlias = tuple[Callable[[Any], bool], str]
"""Whether a value may stand, and what would be right."""

_HEADER: Final = re.compile(r"\s*\[\[?\s*(?P<path>[^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY: Final = re.compile(r"\s*(?P<path>(?:\"[^\"]*\"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:\"[^\"]*\"|'[^']*'|[\w-]+))*)\s*=")
_PART: Final = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")
_AT_LINE: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A TOML file that was read: its name as shown, its text and its table."""

    name: str
    text: str
    table: Mapping[str, Any]

    def wrong(self, path: Sequence[str | int], clause: str) -> UsageError:
        """The error of a place, with its line; `path` are keys, and the places of tables of an array."""
        return UsageError(f"{self.place(path)}: {clause}")

    def place(self, path: Sequence[str | int]) -> str:
        """The file and the line of a place, as `gate.toml:7`; the file alone where the line cannot be told."""
        wanted = tuple(path)
        while wanted:
            for found, line in _places(self.text):
                if found[: len(wanted)] == wanted:
                    return f"{self.name}:{line}"
            wanted = wanted[:-1]
        return self.name


def read(path: Path) -> Document:
    """A file as a document. Raises UsageError when it is not there, too large, or no TOML; with the line."""
    try:
        if path.stat().st_size > LARGEST:
            raise UsageError(f"{str(path)!r} has more than {LARGEST:,} bytes: split it")
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{str(path)!r} is not UTF-8: write it as TOML") from error
    return parse(str(path), text)


def parse(name: str, text: str) -> Document:
    """A text as a document. Raises UsageError for what is no TOML, with the line."""
    try:
        return Document(name=name, text=text, table=tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        said = str(error) or type(error).__name__
        found = _AT_LINE.search(said)
        where = f":{found[1] or max(1, len(text.splitlines()))}" if found else ""
        raise UsageError(f"{name}{where}: this is no TOML: {_AT_LINE.sub('', said)}") from error


def require(
    document: Document, path: Sequence[str | int], table: Any, checks: Mapping[str, Check], needed: Sequence[str] = ()
) -> None:
    """Raise UsageError for an unknown key, a wrong value or a missing one of a table."""
    if not isinstance(table, Mapping):
        raise document.wrong(path, f"{path[-1]!r} must be a table")
    for key, value in table.items():
        if key not in checks:
            raise document.wrong((*path, key), f"unknown key {key!r}: choose from {', '.join(checks)}")
        fits, right = checks[key]
        if not fits(value):
            raise document.wrong((*path, key), f"{key} is {_shown(value)}: {right}")
    for key in needed:
        if key not in table:
            raise document.wrong(path, f"{key} is missing: {checks[key][1]}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _places(text: str) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Where tables and keys are written: their path and line. Tables of an array are numbered from 0."""
    table: tuple[str | int, ...] = ()
    counts: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            parts = _parts(header["path"])
            table = parts
            if line.lstrip().startswith("[["):
                counts[parts] = counts.get(parts, -1) + 1
                table = (*parts, counts[parts])
            yield table, number
        elif key := _KEY.match(line):
            yield (*table, *_parts(key["path"])), number


def _parts(path: str) -> tuple[str, ...]:
    return tuple(next(part for part in found if part) if any(found) else "" for found in _PART.findall(path))


def share(value: Any) -> bool:
    """Whether it is a number from 0 to 1; a bool is none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def count(value: Any) -> bool:
    """Whether it is a whole number from 0; a bool is none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def text(value: Any) -> bool:
    """Whether it is a text with something in it."""
    return isinstance(value, str) and bool(value.strip())


def texts(value: Any) -> bool:
    """Whether it is a list of texts with something in them, and has one."""
    return isinstance(value, list) and bool(value) and all(map(text, value))
