"""What a comparison comes to, suite by suite: the numbers that a policy's rules are about. Pure functions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from conformance import diff
from conformance.diff import Side
from conformance.gate.policy import Rules
from conformance.outcomes import FLAKY, NOT_ELIGIBLE, Outcome
from conformance.pairs import SIDE, PairClass
from conformance.pairs import Side as Group

Mask = NDArray[np.bool_]

RIGHT: Final = frozenset({Outcome.PASS, Outcome.FALLBACK, Outcome.UNPROVEN, Outcome.XPASS})
"""Outcomes with a right result."""

_FAILING: Final = frozenset(outcome for outcome, group in SIDE.items() if group is Group.FAILURE)
_SILENT: Final = (
    PairClass.REMOVED, PairClass.NOT_RUN_HERE, PairClass.ENVIRONMENT_CHANGED, PairClass.ELIGIBILITY_CHANGED,
)  # fmt: skip
_FRESH: Final = (PairClass.ADDED, PairClass.TEST_CHANGED)
_UNTOUCHED: Final = (PairClass.SAME, PairClass.CHANGED_FAILURE, PairClass.BETTER)


@dataclass(frozen=True, kw_only=True, slots=True)
class Vectors:
    """A comparison as the gate sees it: classes and both sides, shape (tests,).

    `steady` are the tests that failed in every attempt of the candidate and were right once in a flaky baseline;
    `doubtful` those of the candidate that were right in one of their attempts and stand as something worse.
    """

    classes: NDArray[np.uint8]
    before: Side
    after: Side
    steady: Mask
    doubtful: Mask


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """One suite, in tests. `blocked` are those that block, `flaky` those let off as flaky, both shape (tests,).

    `silenced` were right and are gone or no longer tell; `fresh` are new or defined anew and eligible, `fresh_right`
    of them right.
    """

    suite: str
    rules: Rules
    baseline: int
    candidate: int
    comparable: int
    right_before: int
    silenced: int
    fresh: int
    fresh_right: int
    infra: int
    unclassified: int
    classes: Mapping[PairClass, int]
    blocked: Mask
    flaky: Mask


def outcomes_in(status: NDArray[np.uint8], outcomes: frozenset[Outcome]) -> Mask:
    """The tests that ended as one of these, shape (tests,)."""
    table = np.zeros(256, np.bool_)
    for each in outcomes:
        table[[int(each), int(each) | FLAKY]] = True
    found: Mask = table[status]
    return found


def possibly_steady(classes: NDArray[np.uint8], before: Side, after: Side) -> Mask:
    """The tests that fail steadily after a flaky failure, in no class that blocks; shape (tests,)."""
    flaky = (before.status & FLAKY != 0) & (after.status & FLAKY == 0)
    failing = outcomes_in(before.status, _FAILING) & outcomes_in(after.status, _FAILING)
    found: Mask = flaky & failing & np.isin(classes, [int(each) for each in _UNTOUCHED])
    return found


def of_suite(vectors: Vectors, mine: Mask, suite: str, rules: Rules) -> Facts:
    """The facts of the tests of one suite (`mine`, shape (tests,))."""
    classes = np.where(mine, vectors.classes, np.uint8(0))
    planned_before, planned_after = ((side.status != 0) & mine for side in (vectors.before, vectors.after))
    right_before = planned_before & outcomes_in(vectors.before.status, RIGHT)
    fresh = np.isin(classes, [int(each) for each in _FRESH]) & ~outcomes_in(vectors.after.status, NOT_ELIGIBLE)
    blocked = _blocked(vectors, classes, rules)
    let_off = blocked & vectors.doubtful if rules.flaky == "report" else np.zeros(len(mine), np.bool_)
    return Facts(
        suite=suite, rules=rules, baseline=_count(planned_before), candidate=_count(planned_after),
        comparable=diff.comparable(classes), right_before=_count(right_before),
        silenced=_count(right_before & np.isin(classes, [int(each) for each in _SILENT])),
        fresh=_count(fresh), fresh_right=_count(fresh & outcomes_in(vectors.after.status, RIGHT)),
        infra=_count(planned_after & outcomes_in(vectors.after.status, frozenset({Outcome.INFRA}))),
        unclassified=_count(
            planned_after & outcomes_in(vectors.after.status, frozenset({Outcome.SKIP_UNCLASSIFIED}))
        ),
        classes=diff.counts(classes), blocked=blocked & ~let_off, flaky=let_off,
    )  # fmt: skip


def _blocked(vectors: Vectors, classes: NDArray[np.uint8], rules: Rules) -> Mask:
    chosen = set(rules.block)
    lost = _count(classes == PairClass.LOST_COVERAGE)
    if lost <= rules.max_lost_coverage:
        chosen.discard(PairClass.LOST_COVERAGE)
    steady = vectors.steady & (classes != 0) if PairClass.REGRESSED in rules.block else np.zeros(len(classes), np.bool_)
    return np.isin(classes, [int(each) for each in chosen]) | steady


def _count(mask: Mask) -> int:
    return int(np.count_nonzero(mask))
