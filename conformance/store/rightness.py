"""Whether a test that stands as wrong was right in one of its attempts, or in one of a release's runs."""

import numpy as np
from numpy.typing import NDArray

from conformance.outcomes import FLAKY, Outcome
from conformance.store import readings
from conformance.store.compare import Comparison
from conformance.store.runs import RunRow
from conformance.store.store import Store

_RIGHT = [int(each) for each in (Outcome.PASS, Outcome.FALLBACK, Outcome.UNPROVEN, Outcome.XPASS)]


def once_right(store: Store, compared: Comparison, place: int, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of the tests asked for (shape (tests,)), those of side `place` (0 or 1) that were right once and do not stand so.

    Attempts are kept of failures and of tests tried more than once; a run in which a test was right at once has none.
    """
    found = np.zeros(len(asked), np.bool_)
    standing = compared.sides[place].status & ~np.uint8(FLAKY)
    numbers = np.flatnonzero(asked & ~np.isin(standing, _RIGHT))
    if not len(numbers):
        return found
    own = np.array([compared.renamed.get(each, each) for each in numbers.tolist()]) if place == 0 else numbers
    definition = compared.sides[place].definition[numbers]
    for run in compared.runs[place]:
        inside = own < len(readings.status(store, run))
        inside[inside] = readings.definition(store, run)[own[inside]] == definition[inside]
        found[numbers[inside]] |= _right_in(store, run, own[inside])
    return found


def _right_in(store: Store, run: RunRow, numbers: NDArray[np.intp]) -> NDArray[np.bool_]:
    at_once = np.isin(readings.status(store, run)[numbers] & ~np.uint8(FLAKY), _RIGHT)
    rows = store.rows(
        "SELECT DISTINCT test_id FROM attempt "
        "WHERE run_id = :run AND test_id = ANY(:numbers) AND outcome = ANY(:right)",
        run=run.number, numbers=numbers.tolist(), right=_RIGHT,
    )  # fmt: skip
    return at_once | np.isin(numbers, [row["test_id"] for row in rows])
