"""Two runs side by side: the class of every pair of outcomes, as data. Standard library only."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Final

from conformance.outcomes import BADNESS, Outcome


class PairClass(IntEnum):
    """What became of one test between two runs; exactly one class a pair. Codes are for ever."""

    SAME = 1
    ADDED = 2
    REMOVED = 3
    TEST_CHANGED = 4
    NOT_RUN_HERE = 5
    INFRA_EITHER = 6
    ENVIRONMENT_CHANGED = 7
    ELIGIBILITY_CHANGED = 8
    LOST_PROOF = 9
    FELL_BACK = 10
    LOST_COVERAGE = 11
    REGRESSED = 12
    PROVEN = 13
    CAME_HOME = 14
    FALLBACK_CHANGED = 15
    GAINED_COVERAGE = 16
    NOW_FAILS = 17
    FIXED = 18
    CHANGED_FAILURE = 19
    WORSE = 20
    BETTER = 21

    @property
    def word(self) -> str:
        """The word shown to people and written to every export."""
        return self.name.lower()


NOT_COMPARABLE: Final = frozenset({PairClass.ADDED, PairClass.REMOVED, PairClass.TEST_CHANGED, PairClass.NOT_RUN_HERE})

BLOCKING: Final = frozenset(
    {PairClass.REGRESSED, PairClass.WORSE, PairClass.FELL_BACK, PairClass.LOST_COVERAGE, PairClass.LOST_PROOF}
)
"""Classes that block a release unless a policy says otherwise."""


class Side(StrEnum):
    """An outcome as a row or column of the table."""

    PASS = "P"
    UNPROVEN = "U"
    FALLBACK = "B"
    SKIP = "S"
    FAILURE = "F"


SIDE: Final[Mapping[Outcome, Side]] = {
    Outcome.PASS: Side.PASS,
    Outcome.XPASS: Side.PASS,
    Outcome.UNPROVEN: Side.UNPROVEN,
    Outcome.FALLBACK: Side.FALLBACK,
    Outcome.SKIP_COVERAGE: Side.SKIP,
    Outcome.SKIP_UNCLASSIFIED: Side.SKIP,
    Outcome.XFAIL: Side.FAILURE,
    Outcome.COMPILE_FAIL: Side.FAILURE,
    Outcome.COMPILE_TIMEOUT: Side.FAILURE,
    Outcome.ERROR: Side.FAILURE,
    Outcome.TIMEOUT: Side.FAILURE,
    Outcome.CRASH: Side.FAILURE,
    Outcome.FAIL: Side.FAILURE,
}
"""xpass is read as pass, xfail as fail, skip_unclassified as skip_coverage: an expectation never hides a change."""

READ_AS: Final[Mapping[Outcome, Outcome]] = {Outcome.XFAIL: Outcome.FAIL}
"""The failure that an outcome is ranked as when two failures are compared."""


class Rule(StrEnum):
    """Cells of the table that need more than the two outcomes."""

    BY_OPS = "by op sets"
    BY_CAUSE = "by cause and badness"


TABLE: Final[Mapping[Side, Mapping[Side, PairClass | Rule]]] = {
    Side.PASS: {
        Side.PASS: PairClass.SAME,
        Side.UNPROVEN: PairClass.LOST_PROOF,
        Side.FALLBACK: PairClass.FELL_BACK,
        Side.SKIP: PairClass.LOST_COVERAGE,
        Side.FAILURE: PairClass.REGRESSED,
    },
    Side.UNPROVEN: {
        Side.PASS: PairClass.PROVEN,
        Side.UNPROVEN: PairClass.SAME,
        Side.FALLBACK: PairClass.FELL_BACK,
        Side.SKIP: PairClass.LOST_COVERAGE,
        Side.FAILURE: PairClass.REGRESSED,
    },
    Side.FALLBACK: {
        Side.PASS: PairClass.CAME_HOME,
        Side.UNPROVEN: PairClass.LOST_PROOF,
        Side.FALLBACK: Rule.BY_OPS,
        Side.SKIP: PairClass.LOST_COVERAGE,
        Side.FAILURE: PairClass.REGRESSED,
    },
    Side.SKIP: {
        Side.PASS: PairClass.GAINED_COVERAGE,
        Side.UNPROVEN: PairClass.GAINED_COVERAGE,
        Side.FALLBACK: PairClass.GAINED_COVERAGE,
        Side.SKIP: PairClass.SAME,
        Side.FAILURE: PairClass.NOW_FAILS,
    },
    Side.FAILURE: {
        Side.PASS: PairClass.FIXED,
        Side.UNPROVEN: PairClass.FIXED,
        Side.FALLBACK: PairClass.FIXED,
        Side.SKIP: PairClass.LOST_COVERAGE,
        Side.FAILURE: Rule.BY_CAUSE,
    },
}


def presence_class(*, in_a: bool, in_b: bool, selected_a: bool, selected_b: bool) -> PairClass | None:
    """The class of a test that is missing from a plan; None when both plans have it.

    A test outside the other side's selection was not run there; one inside it but not in its plan is new or gone.
    """
    if in_a and not in_b:
        return PairClass.REMOVED if selected_b else PairClass.NOT_RUN_HERE
    if in_b and not in_a:
        return PairClass.ADDED if selected_a else PairClass.NOT_RUN_HERE
    return None


def pair_class(
    a: Outcome,
    b: Outcome,
    *,
    same_definition: bool = True,
    same_cause: bool = True,
    ops_a: frozenset[str] = frozenset(),
    ops_b: frozenset[str] = frozenset(),
) -> PairClass:
    """The class of a test that both runs planned. Precedence as in the vocabulary: not comparable first."""
    if not same_definition:
        return PairClass.TEST_CHANGED
    if Outcome.NOT_RUN in (a, b):
        return PairClass.NOT_RUN_HERE
    if Outcome.INFRA in (a, b):
        return PairClass.INFRA_EITHER
    if a is not b and {a, b} & {Outcome.SKIP_ENVIRONMENT, Outcome.INVALID}:
        return PairClass.ENVIRONMENT_CHANGED
    if a is not b and Outcome.SKIP_ELIGIBILITY in (a, b):
        return PairClass.ELIGIBILITY_CHANGED
    if a is b and a not in SIDE:
        return PairClass.SAME
    cell = TABLE[SIDE[a]][SIDE[b]]
    if cell is Rule.BY_OPS:
        return _by_ops(ops_a, ops_b)
    if cell is Rule.BY_CAUSE:
        return _by_cause(a, b, same_cause)
    assert isinstance(cell, PairClass)
    return cell


def _by_ops(ops_a: frozenset[str], ops_b: frozenset[str]) -> PairClass:
    if ops_a == ops_b:
        return PairClass.SAME
    if ops_a < ops_b:
        return PairClass.FELL_BACK
    return PairClass.CAME_HOME if ops_b < ops_a else PairClass.FALLBACK_CHANGED


def _by_cause(a: Outcome, b: Outcome, same_cause: bool) -> PairClass:
    before, after = (BADNESS[READ_AS.get(each, each)] for each in (a, b))
    if before == after:
        return PairClass.SAME if same_cause else PairClass.CHANGED_FAILURE
    return PairClass.WORSE if after > before else PairClass.BETTER
