"""Every planned test with the attempts made so far, while a run goes on."""

from collections import Counter
from collections.abc import Iterable

from conformance import settlement
from conformance.journal import End, Journal
from conformance.outcomes import Attempt, Outcome, settle
from conformance.plan import PlannedTest
from conformance.record import Attempts

DIED = "died"
"""Rule of a crash that was not confirmed yet: the test ran in company."""
DIED_AGAIN = "died-alone"
"""Rule of a crash that was confirmed by a run of the test alone."""
MOST_INFRA = 3
"""Attempts that the machine may spoil before a test is left as infra."""


class Ledger:
    """Counts outcomes as they come, and writes the attempts that only the supervisor can tell of."""

    def __init__(self, tests: Iterable[PlannedTest], before: Attempts, own: Journal) -> None:
        self._own = own
        self.tests = {test.key: test for test in tests}
        self._made: dict[str, dict[int, Outcome]] = {}
        self._alone: dict[str, set[int]] = {}
        self._infra: Counter[str] = Counter()
        self._unconfirmed: set[str] = set()
        self.counts: Counter[Outcome] = Counter()
        for key, test in self.tests.items():
            attempts = before.ended.get(key, {})
            self._made[key] = {number: each.o for number, each in attempts.items()}
            self._alone[key] = {number for number, each in attempts.items() if each.a}
            if attempts and _unconfirmed(attempts.values()):
                self._unconfirmed.add(key)
            self.counts[test.decided.outcome if test.decided else self.standing(key)] += 1

    def number(self, key: str) -> int:
        """Attempts made at a test."""
        return max(self._made[key], default=0)

    def company(self, key: str) -> list[Outcome]:
        """The outcomes of the attempts at a test among others, those lost to the machine left out."""
        return [made for number, made in self._real(key) if number not in self._alone[key]]

    def alone(self, key: str) -> list[Outcome]:
        """The outcomes of the attempts at a test by itself, those lost to the machine left out."""
        return [made for number, made in self._real(key) if number in self._alone[key]]

    def _real(self, key: str) -> list[tuple[int, Outcome]]:
        return [each for each in sorted(self._made[key].items()) if each[1] is not Outcome.INFRA]

    def unfinished(self) -> list[PlannedTest]:
        """Tests to run, in plan order: none made, all lost to the machine, or a crash not yet confirmed."""
        return [test for test in self.tests.values() if not test.decided and self._unfinished(test.key)]

    def _unfinished(self, key: str) -> bool:
        return key in self._unconfirmed or self._outcome(key) in (Outcome.NOT_RUN, Outcome.INFRA)

    def is_suspect(self, key: str) -> bool:
        """Whether the test crashed once and must now run alone."""
        return key in self._unconfirmed

    def may_try_again(self, key: str) -> bool:
        """Whether a test that the machine has just spoiled gets another attempt. Counts, so ask once a time."""
        self._infra[key] += 1
        return self._infra[key] < MOST_INFRA

    def take(self, key: str, number: int, outcome: Outcome, *, alone: bool = False) -> None:
        """Count an attempt that a child has journalled."""
        if key not in self.tests:
            return
        before = self.standing(key)
        self._made[key][number] = outcome
        (self._alone[key].add if alone else self._alone[key].discard)(number)
        if outcome is not Outcome.INFRA:
            self._unconfirmed.discard(key)
        self.counts[before] -= 1
        self.counts[self.standing(key)] += 1

    def close(self, key: str, number: int, attempt: Attempt) -> None:
        """Journal and count an attempt that ended with its process."""
        self._own.end(key, attempt, number)
        self.take(key, number, attempt.outcome, alone=attempt.alone)
        if attempt.rule == DIED:
            self._unconfirmed.add(key)

    def standing(self, key: str) -> Outcome:
        """What stands for a test so far."""
        return settlement.standing(self.tests[key], self._outcome(key))

    def _outcome(self, key: str) -> Outcome:
        return settle(self._made[key].values())[0]


def _unconfirmed(ends: Iterable[End]) -> bool:
    real = [each for each in ends if each.o is not Outcome.INFRA]
    return len(real) == 1 and real[0].r == DIED
