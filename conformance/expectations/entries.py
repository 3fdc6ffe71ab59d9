"""One entry of a coverage or expectation file: what it is about, when it holds, what is wrong with it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from conformance.outcomes import Outcome, TestId

SKIP: Final = "skip"
EXPECT: Final = "expect"
SECTIONS: Final = (SKIP, EXPECT)
"""What a file may hold: tests that are not claimed, and failures that are known."""

LISTS: Final = ("tests", "files", "classes", "ops", "variants", "dtypes", "kinds")
"""The fields by which an entry matches."""

FORESEEABLE: Final = (
    Outcome.COMPILE_FAIL, Outcome.COMPILE_TIMEOUT, Outcome.ERROR, Outcome.TIMEOUT, Outcome.CRASH, Outcome.FAIL,
)  # fmt: skip
"""Failures that an entry may foresee."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One exclusion or expectation. A test matches when each list that is not empty has its part, exactly.

    `tests` are identities, `ops` are op names with or without the variant (`linalg.lu` or
    `linalg.norm.subgradients_at_zero`), `variants` are of OpInfo. `releases` none means all, `torch` is a range of
    versions (`>=2.13,<2.15`, PEP 440), `expires` the first day on which the entry no longer holds. `mode` is of
    skips: `probe` runs the tests all the same. `outcome`, `code` and `exception` are of expectations: the failure
    that is foreseen, its compiler code and the name of its exception.
    """

    id: str
    reason: str
    link: str = ""
    owner: str | None = None
    added: date | None = None
    expires: date | None = None
    torch: str = ""
    releases: tuple[str, ...] = ()
    mode: Literal["skip", "probe"] = "skip"
    outcome: str = ""
    code: str = ""
    exception: str = ""
    tests: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    def matches(self, test: TestId) -> bool:
        """Whether this entry speaks of the test. `Matcher` is quicker for many tests."""
        return Matcher.of(self).matches(test)

    def values(self, name: str) -> tuple[str, ...]:
        """One of its lists, by the field's name."""
        found: tuple[str, ...] = getattr(self, name)
        return found


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file as written: `skip` is what is not claimed, `expect` what is known to fail."""

    skip: tuple[Entry, ...] = ()
    expect: tuple[Entry, ...] = ()


_PARTS: Final[dict[str, Callable[[TestId], tuple[str, ...]]]] = {
    "tests": lambda test: (test.key,),
    "files": lambda test: (test.file,),
    "classes": lambda test: (test.cls,),
    "ops": lambda test: (test.op, f"{test.op}.{test.variant}") if test.variant else (test.op,),
    "variants": lambda test: (test.variant,),
    "dtypes": lambda test: (test.dtype,),
    "kinds": lambda test: (test.kind,),
}


def parts(name: str, test: TestId) -> tuple[str, ...]:
    """What a test may be called in the list of that name."""
    return _PARTS[name](test)


@dataclass(frozen=True, kw_only=True, slots=True)
class Matcher:
    """An entry's lists as sets: ten thousand identities cost no more than one."""

    wanted: tuple[tuple[str, frozenset[str]], ...]

    @classmethod
    def of(cls, entry: Entry) -> "Matcher":
        """The sets of an entry."""
        return cls(wanted=tuple((name, frozenset(found)) for name in LISTS if (found := entry.values(name))))

    def matches(self, test: TestId) -> bool:
        """Whether every list has the test's part."""
        return all(not values.isdisjoint(parts(name, test)) for name, values in self.wanted)


@dataclass(frozen=True, kw_only=True, slots=True)
class Conditions:
    """Under what entries are read: the backend's release, torch's version and the day (UTC)."""

    release: str
    torch: str
    today: date

    def hold(self, entry: Entry) -> bool:
        """Whether the entry is in force."""
        return not self.expired(entry) and self.in_range(entry)

    def in_range(self, entry: Entry) -> bool:
        """Whether it is for this release and this torch, expired or not."""
        if entry.releases and self.release not in entry.releases:
            return False
        return not entry.torch or SpecifierSet(entry.torch).contains(self.torch, prereleases=True)

    def expired(self, entry: Entry) -> bool:
        """Whether its last day is over."""
        return entry.expires is not None and entry.expires <= self.today


def problems(section: str, entry: Entry) -> Iterator[str]:
    """What is wrong with an entry by itself, each a clause that follows its name."""
    if not entry.reason.strip():
        yield "has an empty reason: say why"
    if entry.owner is not None and not entry.owner.strip():
        yield "has an empty owner: say who looks after it"
    if not any(entry.values(name) for name in LISTS):
        yield "matches every test: name what it is about"
    if any(not value.strip() for name in LISTS for value in entry.values(name)):
        yield "has an empty name in one of its lists: write it out or remove it"
    try:
        SpecifierSet(entry.torch)
    except InvalidSpecifier:
        yield f"has the torch range {entry.torch!r}: write one such as >=2.13,<2.15"
    yield from _of_section(section, entry)


def _of_section(section: str, entry: Entry) -> Iterator[str]:
    foreign = ("outcome", "code", "exception") if section == SKIP else ()
    given = [name for name in foreign if getattr(entry, name)]
    if given:
        yield f"is a skip and has {given[0]}: only an [[expect]] foresees a failure"
    if section == EXPECT and entry.mode != "skip":
        yield "is an expectation and has a mode: its tests always run"
    words = [each.word for each in FORESEEABLE]
    if section == EXPECT and entry.outcome and entry.outcome not in words:
        yield f"expects the outcome {entry.outcome!r}: choose one of {', '.join(words)}"
