"""The entries that hold for one run: which tests are skipped, probed, or known to fail, and by which entry."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from conformance.expectations.entries import Entry, Matcher
from conformance.outcomes import Outcome, TestId
from conformance.plan import Decision, Expected


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The entries in force. The first that matches decides. `probe` runs what would be skipped.

    `expired` are the entries that would hold, were they not over.
    """

    skips: tuple[Entry, ...] = ()
    expects: tuple[Entry, ...] = ()
    expired: tuple[Entry, ...] = ()
    probe: bool = False

    def decide(self, test: TestId) -> Decision | None:
        """The skip of a test that the backend does not claim; None when it claims it, or when the test is probed."""
        entry = self._skips.first(test)
        return None if entry is None or self._probes(entry) else _decision(entry)

    def probed(self, test: TestId) -> Decision | None:
        """What a test stays that is run although the backend does not claim it; None for every other one."""
        entry = self._skips.first(test)
        return _decision(entry) if entry is not None and self._probes(entry) else None

    def claims(self, test: TestId) -> bool:
        """Whether the backend claims the test, probed or not."""
        return self._skips.first(test) is None

    def expect(self, test: TestId) -> Expected | None:
        """The failure that is foreseen for a test; None when none is."""
        entry = self._expects.first(test)
        return None if entry is None else _expected(entry)

    def dead(self, tests: Iterable[TestId]) -> tuple[str, ...]:
        """Ids of the entries that match none of the tests: a typing error, or an op that is gone."""
        left = {entry.id: Matcher.of(entry) for entry in (*self.skips, *self.expects)}
        for test in tests:
            for found in [name for name, matcher in left.items() if matcher.matches(test)]:
                del left[found]
        return tuple(left)

    def _probes(self, entry: Entry) -> bool:
        return self.probe or entry.mode == "probe"

    @cached_property
    def _skips(self) -> "Index":
        return Index(self.skips)

    @cached_property
    def _expects(self) -> "Index":
        return Index(self.expects)


def skip_rule(entry: Entry) -> str:
    """The rule of tests that an entry skips."""
    return f"coverage:{entry.id}"


def expect_rule(entry: Entry) -> str:
    """The rule of tests whose failure an entry foresees."""
    return f"expect:{entry.id}"


def _decision(entry: Entry) -> Decision:
    return Decision(outcome=Outcome.SKIP_COVERAGE, rule=skip_rule(entry), reason=entry.reason)


def _expected(entry: Entry) -> Expected:
    outcome = Outcome.from_word(entry.outcome) if entry.outcome else None
    return Expected(
        rule=expect_rule(entry), reason=entry.reason, outcome=outcome, code=entry.code, exception=entry.exception
    )


class Index:
    """Entries by identity and by op, so that a plan of 150,000 tests stays quick."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._by_name: dict[str, list[tuple[int, Entry, Matcher]]] = {}
        for number, entry in enumerate(entries):
            made = (number, entry, Matcher.of(entry))
            for name in entry.tests or entry.ops or ("",):
                self._by_name.setdefault(name, []).append(made)

    def first(self, test: TestId) -> Entry | None:
        """The matching entry that is written first."""
        found = min(self._matching(test), key=lambda each: each[0], default=None)
        return None if found is None else found[1]

    def all(self, test: TestId) -> list[Entry]:
        """Every matching entry, in the order in which they are written."""
        return [entry for _, entry in sorted(self._matching(test), key=lambda each: each[0])]

    def _matching(self, test: TestId) -> Iterator[tuple[int, Entry]]:
        for name in {"", test.key, test.op, f"{test.op}.{test.variant}"}:
            for number, entry, matcher in self._by_name.get(name, ()):
                if matcher.matches(test):
                    yield number, entry
