"""Waivers: blocked tests that somebody answers for, until a day. From reviewed files, strictly read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from conformance.errors import UsageError
from conformance.expectations.entries import LISTS, Matcher
from conformance.gate import documents
from conformance.gate.documents import Check, Document
from conformance.outcomes import TestId
from conformance.pairs import PairClass

_CLASSES: Final = {each.word: each for each in PairClass}
_NEEDED: Final = ("id", "reason", "link", "owner", "expires")
_NAMES: Final = (documents.texts, "write a list of names")

CHECKS: Final[Mapping[str, Check]] = {
    "id": (documents.text, "write a name of its own"),
    "reason": (documents.text, "say why these tests may fail"),
    "link": (lambda value: documents.text(value) and value.startswith(("https://", "http://")), "write an address"),
    "owner": (documents.text, "say who answers for it"),
    "expires": (
        lambda value: isinstance(value, date) and not isinstance(value, datetime),
        "write the first day on which it no longer holds, as 2027-01-31 without quotes",
    ),
    "targets": _NAMES,
    "releases": _NAMES,
    "changes": (
        lambda value: documents.texts(value) and all(each in _CLASSES for each in value),
        f"write a list of classes from {', '.join(_CLASSES)}",
    ),
    "causes": _NAMES,
    "suites": _NAMES,
    **dict.fromkeys(LISTS, _NAMES),
}
"""The fields of a waiver. `changes` are classes of a comparison, `classes` are classes of tests."""

_SCOPE: Final = ("causes", "suites", *LISTS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Blocked:
    """A blocked test as waivers see it; `cause` is the cause's name."""

    number: int
    id: TestId
    change: PairClass
    cause: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiver:
    """One waiver. A test matches when each list that is not empty has its part, exactly."""

    id: str
    reason: str
    link: str
    owner: str
    expires: date
    where: str
    targets: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    changes: frozenset[PairClass] = frozenset()
    causes: frozenset[str] = frozenset()
    suites: frozenset[str] = frozenset()
    matcher: Matcher = field(default_factory=lambda: Matcher(wanted=()))

    def concerns(self, target: str, release: str) -> bool:
        """Whether it is for this target and this release of the candidate."""
        return (not self.targets or target in self.targets) and (not self.releases or release in self.releases)

    def expired(self, day: date) -> bool:
        """Whether its last day is over."""
        return self.expires <= day

    def covers(self, test: Blocked) -> bool:
        """Whether it is about this test."""
        return (
            (not self.changes or test.change in self.changes)
            and (not self.causes or test.cause in self.causes)
            and (not self.suites or test.id.suite in self.suites)
            and self.matcher.matches(test.id)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Used:
    """What became of a waiver: the tests that it waives, or would waive had it not expired."""

    waiver: Waiver
    expired: bool
    tests: tuple[int, ...]

    @property
    def state(self) -> str:
        """A word for it: expired, unused or waives."""
        if self.expired:
            return "expired"
        return "waives" if self.tests else "unused"


def load(paths: Iterable[Path]) -> list[Waiver]:
    """The waivers of some files. Raises UsageError with the line of a mistake, and for an id that is used twice."""
    found = [each for path in paths for each in parse(documents.read(path))]
    seen = dict[str, Waiver]()
    for each in found:
        if (other := seen.setdefault(each.id, each)) is not each:
            raise UsageError(
                f"{each.where}: waiver {each.id!r} is at {other.where} already: give each an id of its own"
            )
    return found


def parse(document: Document) -> list[Waiver]:
    """The waivers of one file."""
    documents.require(
        document, (), document.table, {"waiver": (lambda value: isinstance(value, list), "write each as [[waiver]]")}
    )
    return [_waiver(document, place, each) for place, each in enumerate(document.table.get("waiver", []))]


def _waiver(document: Document, place: int, table: Any) -> Waiver:
    path = ("waiver", place)
    documents.require(document, path, table, CHECKS, _NEEDED)
    if not any(table.get(each) for each in _SCOPE):
        raise document.wrong(path, f"waiver {table['id']!r} has no scope: name one of {', '.join(_SCOPE)}")
    return Waiver(
        id=table["id"], reason=table["reason"], link=table["link"], owner=table["owner"], expires=table["expires"],
        where=document.place(path), targets=tuple(table.get("targets", ())),
        releases=tuple(table.get("releases", ())),
        changes=frozenset(_CLASSES[each] for each in table.get("changes", ())),
        causes=frozenset(table.get("causes", ())), suites=frozenset(table.get("suites", ())),
        matcher=Matcher(wanted=tuple((each, frozenset(table[each])) for each in LISTS if each in table)),
    )  # fmt: skip


def apply(waivers: Sequence[Waiver], tests: Sequence[Blocked], day: date) -> list[Used]:
    """What each waiver waives. A test that several cover is waived by the first one in force."""
    taken = set[int]()
    found = []
    for each in sorted(waivers, key=lambda one: one.expired(day)):
        mine = tuple(test.number for test in tests if test.number not in taken and each.covers(test))
        if not each.expired(day):
            taken.update(mine)
        found.append(Used(waiver=each, expired=each.expired(day), tests=mine))
    return found
