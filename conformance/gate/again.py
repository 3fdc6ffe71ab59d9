"""Later runs of tests that block: what was as good as the baseline there, or right in an attempt, is in doubt."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from conformance import store as stored
from conformance.errors import UsageError
from conformance.gate import facts
from conformance.gate.facts import Vectors
from conformance.pairs import PairClass
from conformance.store import Standing, Store

_AS_GOOD: Final = (PairClass.SAME, PairClass.PROVEN, PairClass.CAME_HOME, PairClass.FIXED)


def later_run(store: Store, name: str, candidate: Standing) -> Standing:
    """A later run of the candidate. Raises UsageError when it had another release or other conditions."""
    found = stored.standing(store, name)
    known = {stored.conditions(each) for each in candidate.runs}
    if stored.conditions(found.newest) not in known or found.newest.release != candidate.newest.release:
        raise UsageError(
            f"run {found.newest.uid} is no run of the candidate again: it had another release or other conditions"
        )
    return found


def in_doubt(store: Store, vectors: Vectors, baselines: Sequence[Standing], again: Standing) -> Vectors:
    """The vectors with the tests that a later run puts in doubt among the doubtful ones."""
    size = len(vectors.classes)
    compared = stored.compare(store, baselines, again)
    after = compared.sides[1].status
    right = facts.outcomes_in(after, facts.RIGHT)
    as_good = np.isin(compared.classes, [int(each) for each in _AS_GOOD]) & (after != 0)
    once = stored.once_right(store, compared, 1, after != 0)
    # A test that fails as its flaky baseline did reads "same": it is in doubt only when it is right.
    found, right = (_sized(each, size) for each in (as_good | once, right | once))
    return replace(vectors, doubtful=vectors.doubtful | (found & (~vectors.steady | right)))


def _sized(mask: facts.Mask, size: int) -> facts.Mask:
    return np.pad(mask[:size], (0, max(0, size - len(mask))))
