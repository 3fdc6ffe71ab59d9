"""Where the entries of a TOML file are written: tomllib tells values and no places. Lines are counted from 0."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_HEADER: Final = re.compile(r"^[ \t]*(?:\[\[[ \t]*(?P<section>\w+)[ \t]*\]\]|\[[^\[\]]+\])[ \t]*(?:#.*)?\r?\n?$")
_ID: Final = re.compile(r"^[ \t]*id[ \t]*=")
_STRING: Final = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|#[^\n]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """The lines of one entry, `first` its header, `end` one past its last line that is no blank or comment."""

    section: str
    place: int
    first: int
    end: int


def lines_of(text: str) -> list[str]:
    """Lines with their ends, as an editor counts them: a string may hold other characters that Python splits at."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def blocks(text: str) -> list[Block]:
    """The entries written as `[[section]]`, in order. Entries written inline, `skip = [{…}]`, are not found."""
    lines = lines_of(text)
    headers = [(number, found) for number, line in enumerate(lines) if (found := _HEADER.match(line))]
    ends = [number for number, _ in headers[1:]] + [len(lines)] if headers else []
    seen: Counter[str] = Counter()
    made = []
    for (number, found), end in zip(headers, ends, strict=True):
        if section := found["section"]:
            made.append(Block(section=section, place=seen[section], first=number, end=_trimmed(lines, number, end)))
            seen[section] += 1
    return made


def _trimmed(lines: Sequence[str], first: int, end: int) -> int:
    """Without the blank lines and comments that lead to the next entry."""
    while end > first + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def line_of(text: str, section: str, place: int) -> int:
    """The line, from 1, of an entry's id; of its header where it has none; 1 where it cannot be found."""
    lines = lines_of(text)
    for each in blocks(text):
        if (each.section, each.place) == (section, place):
            ids = [number for number in range(each.first, each.end) if _ID.match(lines[number])]
            return (ids[0] if ids else each.first) + 1
    return 1


def without_block(text: str, section: str, place: int) -> str | None:
    """The text without an entry and the comment right above it; None where the entry cannot be found."""
    lines = lines_of(text)
    for each in blocks(text):
        if (each.section, each.place) == (section, place):
            first, end = each.first, each.end
            while first and lines[first - 1].lstrip().startswith("#"):
                first -= 1
            if end < len(lines) and not lines[end].strip():
                end += 1
            rest = "".join([*lines[:first], *lines[end:]])
            return rest.rstrip("\n") + "\n" if end >= len(lines) and rest.strip() else rest
    return None


def without_values(text: str, section: str, place: int, name: str, gone: frozenset[str]) -> str | None:
    """The text without some strings of one of an entry's lists; None where the list cannot be found."""
    lines = lines_of(text)
    for each in blocks(text):
        if (each.section, each.place) == (section, place):
            body = "".join(lines[each.first : each.end])
            found = re.search(rf"^[ \t]*{name}[ \t]*=[ \t]*\[", body, re.MULTILINE)
            if found is None:
                return None
            shorter = body[: found.end()] + _without(body[found.end() :], gone)
            return "".join([*lines[: each.first], shorter, *lines[each.end :]])
    return None


def _without(rest: str, gone: frozenset[str]) -> str:
    """A list's text from behind its bracket, without some of its strings and the commas behind them."""
    made, last = [], 0
    for found in _items(rest):
        if _value(found[0]) in gone:
            behind = re.match(r"[ \t]*,?[ \t]*", rest[found.end() :])
            made.append(rest[last : found.start()])
            last = found.end() + (behind.end() if behind else 0)
    return "".join([*made, rest[last:]])


def _items(rest: str) -> Iterator[re.Match[str]]:
    """The strings of a list up to its closing bracket; comments are passed over."""
    end = 0
    for found in _STRING.finditer(rest):
        if "]" in rest[end : found.start()]:
            return
        end = found.end()
        if not found[0].startswith("#"):
            yield found


def _value(token: str) -> str:
    return str(tomllib.loads(f"v = {token}")["v"])
