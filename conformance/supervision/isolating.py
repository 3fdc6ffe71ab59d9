"""Which tests are run again by themselves, to tell a test's own failure from what its neighbours did to it."""

from collections import Counter
from enum import StrEnum
from typing import Final

from conformance.outcomes import LEAST_ALONE, Outcome
from conformance.plan import PlannedTest
from conformance.supervision.ledger import Ledger

MOST_TRIES: Final = 4
"""Runs alone that a test is given here, whatever they end as: the machine may spoil some."""

SUSPECT: Final = frozenset(
    {
        Outcome.COMPILE_FAIL, Outcome.COMPILE_TIMEOUT, Outcome.ERROR, Outcome.TIMEOUT, Outcome.CRASH, Outcome.FAIL,
        Outcome.XPASS,
    }
)  # fmt: skip
"""Outcomes that a neighbour may be to blame for."""


class Isolate(StrEnum):
    """Which tests are run alone once all have run among others."""

    NONE = ""
    SUSPECTS = "suspects"
    ALL = "all"


class Isolation:
    """Asked again and again until nothing is due. What is due follows from the attempts, so that a run can be resumed.

    A test whose run alone differs is run alone once more: two that agree make it order-dependent.
    """

    def __init__(self, ledger: Ledger, which: Isolate) -> None:
        self._ledger = ledger
        self._which = which
        self._tried: Counter[str] = Counter()

    def due(self) -> list[PlannedTest]:
        """The tests to be run alone now, in plan order."""
        if self._which is Isolate.NONE:
            return []
        found = [test for test in self._ledger.tests.values() if not test.decided and self._due(test.key)]
        self._tried.update(test.key for test in found)
        return found

    def _due(self, key: str) -> bool:
        if self._tried[key] >= MOST_TRIES:
            return False
        company, alone = self._ledger.company(key), self._ledger.alone(key)
        if not company:
            return False
        if not alone:
            return self._which is Isolate.ALL or self._suspect(key, company)
        return len(alone) < LEAST_ALONE and set(alone) != set(company)

    def _suspect(self, key: str, company: list[Outcome]) -> bool:
        return bool(SUSPECT & set(company)) and self._ledger.standing(key) is not Outcome.XFAIL
