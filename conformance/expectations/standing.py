"""What a run showed of each entry: the tests that it decided, those that were right all the same, the edit to make."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.expectations.coverage import expect_rule, skip_rule
from conformance.expectations.entries import SKIP, Entry, parts
from conformance.expectations.files import Written
from conformance.expectations.writing import many
from conformance.outcomes import Outcome, TestId
from conformance.plan import PlannedTest, Selection
from conformance.record import Result
from conformance.settlement import stale

_NARROWABLE: Final = ("dtypes", "ops", "variants", "kinds", "classes", "files")
"""Lists that lose a value when every test with it is stale; tried in this order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Narrowing:
    """Values to take out of one of an entry's lists; `tests` stale ones are set free by it."""

    list: str
    values: tuple[str, ...]
    tests: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """One entry in one run. `tests` are those that it decided, `stale` those of them that ended right."""

    written: Written
    tests: tuple[TestId, ...]
    stale: tuple[TestId, ...]
    outcomes: Mapping[Outcome, int]

    @property
    def entry(self) -> Entry:
        """The entry itself."""
        return self.written.entry

    @property
    def wholly(self) -> bool:
        """Whether every test that it decided was right."""
        return len(self.stale) == len(self.tests) > 0

    def edit(self, selection: Selection) -> "Edit":
        """What to change in the file after a run of that selection, so that the entry says what was seen."""
        whole = _all_ran(selection, self)
        if self.wholly and whole:
            return Edit(standing=self, removes=True)
        lists = _NARROWABLE if whole else ("ops",) if _by_ops(selection) else ()
        made, done = [], set[TestId]()
        for name in ("tests", *lists):
            values = _removable(self, name)
            if name == "ops" and not whole:
                values &= frozenset(selection.ops)
            freed = {each for each in self.stale if each not in done and _freed(self.entry, name, each, values)}
            if freed:
                kept = tuple(each for each in self.entry.values(name) if each in values)
                made.append(Narrowing(list=name, values=kept, tests=len(freed)))
                done |= freed
        return Edit(standing=self, narrowings=tuple(made), left=len(self.stale) - len(done), whole=whole)


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """How an entry is to be changed. `left` stale tests are set free by none of it; `whole`: all its tests had run."""

    standing: Standing
    removes: bool = False
    narrowings: tuple[Narrowing, ...] = ()
    left: int = 0
    whole: bool = True

    def sentence(self) -> str:
        """The edit in words."""
        if self.removes:
            return "remove the entry"
        steps = [f"remove {_some(each.values)} from {each.list}" for each in self.narrowings]
        if self.left and not self.whole:
            steps.append(f"run the whole profile to see whether {many(self.left, 'test')} can be set free")
        elif self.left:
            steps.append(f"{many(self.left, 'test')} cannot be set free by shortening a list: split the entry")
        return "; ".join(steps)


def _some(values: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(f'"{each}"' for each in values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most:,} more"


def _removable(standing: Standing, name: str) -> frozenset[str]:
    """The values of a list that occur in this run, and only with stale tests."""
    listed, right = frozenset(standing.entry.values(name)), frozenset(standing.stale)
    seen, needed = set[str](), set[str]()
    for test in standing.tests:
        found = listed.intersection(parts(name, test))
        seen |= found
        if test not in right:
            needed |= found
    gone = seen - needed
    # An empty list would match every test.
    return frozenset() if gone == listed else frozenset(gone)


def _freed(entry: Entry, name: str, test: TestId, gone: frozenset[str]) -> bool:
    return bool(gone) and set(entry.values(name)).intersection(parts(name, test)) <= gone


def _by_ops(selection: Selection) -> bool:
    return bool(selection.ops) and not (selection.keys or selection.shard or selection.tests)


def _all_ran(selection: Selection, standing: Standing) -> bool:
    """Whether a run of that selection started all that its profile has of an entry's tests."""
    entry = standing.entry
    if entry.tests:
        return {each.key for each in standing.tests} >= set(entry.tests)
    return selection.whole or (_by_ops(selection) and bool(entry.ops) and set(entry.ops) <= set(selection.ops))


def standings(written: Iterable[Written], results: Iterable[Result]) -> list[Standing]:
    """The entries that decided a test of a run which was started, in the order in which they are written."""
    by_rule: dict[str, list[Result]] = {}
    for each in results:
        if rule := _rule(each.test):
            by_rule.setdefault(rule, []).append(each)
    return [_standing(each, found) for each in written if (found := by_rule.get(rule_of(each)))]


def rule_of(written: Written) -> str:
    """The rule by which outcomes name an entry."""
    return (skip_rule if written.section == SKIP else expect_rule)(written.entry)


def _rule(test: PlannedTest) -> str:
    if test.probed is not None:
        return test.probed.rule
    return test.expected.rule if test.expected is not None and test.decided is None else ""


def _standing(written: Written, found: Sequence[Result]) -> Standing:
    right = [each for each in found if stale(each.test, each.outcome)]
    return Standing(
        written=written, tests=tuple(each.test.id for each in found), stale=tuple(each.test.id for each in right),
        outcomes=Counter(each.outcome for each in right),
    )  # fmt: skip
