"""Entries as TOML, from any text: tomllib reads and does not write."""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final

from conformance.expectations.entries import LISTS, Entry

_WIDTH: Final = 120
_FIELDS: Final = (
    "id", "reason", "link", "owner", "added", "expires", "torch", "releases", "mode", "outcome", "code", "exception",
    *LISTS,
)  # fmt: skip
_ALWAYS: Final = ("id", "reason")
_BLANK: Final = Entry(id="", reason="")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def many(number: int, one: str, more: str = "") -> str:
    """A number with its noun: `1 entry`, `2,000 entries`; without `more` the plural has an s."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def text_of(section: str, entry: Entry, remarks: Iterable[str] = ()) -> str:
    """An entry as a block of TOML with remarks above it. Control characters are escaped wherever they stand."""
    lines = [f"# {plain(each)}" for each in remarks] + [f"[[{section}]]"]
    for name in _FIELDS:
        value = getattr(entry, name)
        if name in _ALWAYS or value != getattr(_BLANK, name):
            lines.append(f"{name} = {_value(value, len(name))}")
    return "\n".join(lines) + "\n"


def string(text: str) -> str:
    """A TOML basic string in which everything that does not print is escaped; JSON's escapes are TOML's.

    Lone surrogates, which TOML cannot hold, become U+FFFD.
    """
    sound = _SURROGATE.sub("\ufffd", text)
    return "".join(each if each.isprintable() else _escaped(each) for each in json.dumps(sound, ensure_ascii=False))


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain(text: str) -> str:
    """Text for a comment: one line without control characters."""
    return string(text)[1:-1]


def _value(value: str | date | Sequence[str], used: int) -> str:
    if isinstance(value, str):
        return string(value)
    if isinstance(value, date):
        return value.isoformat()
    items = [string(each) for each in value]
    line = f"[{', '.join(items)}]"
    if len(line) + used + len(" = ") <= _WIDTH:
        return line
    return "[\n" + "".join(f"    {each},\n" for each in items) + "]"
