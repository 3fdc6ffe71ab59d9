"""What is wrong with coverage and expectation files: by themselves, and against a plan."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from conformance.expectations import blocks
from conformance.expectations.entries import LISTS, SECTIONS, Conditions, Entry, problems
from conformance.expectations.files import Written, one_line

WORDS: Final = ("malformed", "duplicate", "expired", "dead", "shadowed", "contradictory")
"""Kinds of findings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that is wrong: where (`line` from 1), which entry ("" for a whole file), its kind and a sentence."""

    path: Path
    line: int
    entry: str
    word: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A file's text with the entries that could be read of it and what is wrong with the others."""

    path: Path
    text: str
    entries: tuple[Written, ...]
    findings: tuple[Finding, ...]

    def finding(self, written: Written, word: str, text: str) -> Finding:
        """A finding about one of its entries."""
        line = blocks.line_of(self.text, written.section, written.place)
        return Finding(path=self.path, line=line, entry=written.entry.id, word=word, text=text)


def source(path: Path, data: bytes) -> Source:
    """Read a file entry by entry, so that one that is malformed hides no other."""
    try:
        text = data.decode()
        raw = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        finding = Finding(path=path, line=_line_said(error, data), entry="", word="malformed", text=one_line(error))
        return Source(path=path, text="", entries=(), findings=(finding,))
    entries, findings = list[Written](), list(_unknown(path, text, raw))
    for section in SECTIONS:
        listed = raw.get(section, [])
        for place, each in enumerate(listed if isinstance(listed, list) else [listed]):
            found = _entry(path, text, section, place, each)
            if isinstance(found, Finding):
                findings.append(found)
            else:
                entries.append(found)
    made = Source(path=path, text=text, entries=tuple(entries), findings=())
    own = [made.finding(each, "malformed", clause) for each in entries for clause in problems(each.section, each.entry)]
    return replace(made, findings=(*findings, *own))


def _unknown(path: Path, text: str, raw: dict[str, Any]) -> Iterator[Finding]:
    lines = text.splitlines()
    for name in raw:
        if name not in SECTIONS:
            line = next((number for number, each in enumerate(lines, 1) if name in each), 1)
            words = " and ".join(f"[[{each}]]" for each in SECTIONS)
            yield Finding(
                path=path,
                line=line,
                entry="",
                word="malformed",
                text=f"has the unknown part {name!r}: there are {words}",
            )


def _entry(path: Path, text: str, section: str, place: int, raw: Any) -> Written | Finding:
    try:
        entry = msgspec.convert(raw, Entry)
    except (msgspec.ValidationError, RecursionError) as error:
        name = raw.get("id") if isinstance(raw, dict) else ""
        line = blocks.line_of(text, section, place)
        return Finding(path=path, line=line, entry=str(name or ""), word="malformed", text=one_line(error))
    return Written(path=path, section=section, place=place, entry=entry)


def _line_said(error: BaseException, data: bytes) -> int:
    """The line that tomllib names in its message."""
    if "at end of document" in str(error):
        return max(1, len(data.splitlines()))
    words = str(error).partition("at line ")[2].partition(",")[0]
    return int(words) if words.isdecimal() else 1


def by_themselves(sources: Sequence[Source], conditions: Conditions) -> list[Finding]:
    """What needs no plan: malformed and duplicate entries, and expired ones."""
    found = [finding for each in sources for finding in each.findings]
    ids, asked = dict[str, tuple[Source, Written]](), dict[tuple[object, ...], tuple[Source, Written]]()
    for each in sources:
        for written in each.entries:
            first = ids.setdefault(written.entry.id, (each, written))
            if first[1] is not written:
                found.append(each.finding(written, "duplicate", f"its id is also that of {_where(*first)}"))
                continue
            alike = asked.setdefault(_question(written), (each, written))
            if alike[1] is not written:
                found.append(each.finding(written, "duplicate", f"says what {_where(*alike)} says"))
            if conditions.expired(written.entry):
                text = f"expired on {written.entry.expires}: renew it with a reason, or remove it"
                found.append(each.finding(written, "expired", text))
    return found


def _question(written: Written) -> tuple[object, ...]:
    entry = written.entry
    lists = tuple(frozenset(entry.values(name)) for name in LISTS)
    return (written.section, lists, frozenset(entry.releases), entry.torch, entry.outcome, entry.code, entry.exception)


def _where(found: Source, written: Written) -> str:
    line = blocks.line_of(found.text, written.section, written.place)
    return f"{written.entry.id!r} at {found.path.name}:{line}"


def ordered(findings: Iterable[Finding], sources: Sequence[Source]) -> list[Finding]:
    """By file as given, then by line."""
    places = {each.path: number for number, each in enumerate(sources)}
    return sorted(set(findings), key=lambda each: (places.get(each.path, 0), each.line, each.word, each.text))
