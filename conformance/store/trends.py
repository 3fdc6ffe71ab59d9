"""Releases of one target one after another: counts with denominators, ops by what became of them, seconds by phase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from conformance import outcomes
from conformance.outcomes import FLAKY, NOT_ELIGIBLE, Outcome
from conformance.store import readings, sides
from conformance.store.catalogue import catalogue
from conformance.store.phrases import Kind
from conformance.store.standings import Standing, of_release
from conformance.store.store import Store
from conformance.store.tallies import CODES, by_outcome

EXCEPTIONS: Final = (Outcome.SKIP_COVERAGE, Outcome.SKIP_UNCLASSIFIED, Outcome.XFAIL)
"""Outcomes that are let through: what the backend does not claim, what nobody explains, what is expected to fail."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ops:
    """The ops of a suite by what became of their tests: each op is in one of them.

    `served`: a test passed on the device. `fallen`: none passed, one was right on the CPU. `excluded`: every test that
    applies is skipped for coverage. `failing`: the rest of those that have a test that applies.
    """

    served: frozenset[str] = frozenset()
    fallen: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    failing: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One suite of one release; `counts` add up to `planned`. `seconds` are those of all tests, by phase.

    `gained` are ops that are served and were not in the release before, `lost` the other way round; ops that only one
    of the two has are in neither.
    """

    release: str
    suite: str
    runs: Sequence[str]
    started: datetime
    simulated: bool
    sealed: bool
    counts: Mapping[Outcome, int]
    flaky: int
    seconds: Mapping[str, float]
    ops: Ops
    gained: Sequence[str] = ()
    lost: Sequence[str] = ()

    @property
    def planned(self) -> int:
        """Tests planned."""
        return sum(self.counts.values())

    @property
    def eligible(self) -> int:
        """Planned tests less those that do not apply, are unusable, or were lost to the machine."""
        return outcomes.eligible(self.counts)

    @property
    def passed(self) -> int:
        """Tests that passed on the device."""
        return self.counts.get(Outcome.PASS, 0)

    @property
    def right(self) -> int:
        """Tests with the right result, on the device or by falling back."""
        return outcomes.right(self.counts)

    @property
    def exceptions(self) -> int:
        """Tests that are let through."""
        return sum(self.counts.get(each, 0) for each in EXCEPTIONS)


def trend(store: Store, target: str, most: int = 10) -> list[Point]:
    """The last releases of a target with a sealed run over a whole profile, oldest first, suite by suite."""
    rows = store.rows(
        "SELECT release FROM run WHERE target = :target AND sealed AND whole GROUP BY release "
        "ORDER BY max(started) DESC, release LIMIT :most",
        target=target, most=most,
    )  # fmt: skip
    found: list[Point] = []
    before: dict[str, Point] = {}
    for row in reversed(rows):
        for point in _points(store, of_release(store, row["release"], target), row["release"]):
            found.append(_compared(point, before.get(point.suite)))
            before[point.suite] = point
    return sorted(found, key=lambda each: each.suite)


def targets_of(store: Store) -> list[str]:
    """Targets with a sealed run over a whole profile."""
    rows = store.rows("SELECT DISTINCT target FROM run WHERE sealed AND whole ORDER BY target")
    return [str(row["target"]) for row in rows]


def _points(store: Store, found: Standing, release: str) -> list[Point]:
    made, known = sides.built(store, found), catalogue(store)
    status = made.side.status
    suites, newest = known.codes[Kind.SUITE][: len(status)], found.newest
    points = []
    for code in np.unique(suites[status != 0]).tolist():
        mine = np.flatnonzero((suites == code) & (status != 0))
        plain = status[mine] & ~np.uint8(FLAKY)
        points.append(Point(
            release=release, suite=known.labels[code], started=newest.started, simulated=newest.simulated,
            runs=_runs(found, known.labels[code]),
            sealed=found.sealed, counts=by_outcome(np.bincount(plain, minlength=CODES)),
            flaky=int(np.count_nonzero(status[mine] & FLAKY)), seconds=_seconds(store, made, mine),
            ops=_ops(store, mine, plain),
        ))  # fmt: skip
    return points


def _runs(found: Standing, suite: str) -> list[str]:
    """The runs that stand for a suite, newest first."""
    return [each.run.uid for each in found.parts if suite in (each.suites or each.run.selection.suites)]


def _seconds(store: Store, made: sides.Built, mine: NDArray[np.intp]) -> dict[str, float]:
    """Seconds by phase, each test's from the run whose outcome stands."""
    found: dict[str, float] = {}
    for place, run in enumerate(made.runs):
        here = mine[made.picked[mine] == place]
        for phase, column in readings.seconds(store, run).items():
            found[phase] = found.get(phase, 0.0) + float(column[here].sum())
    return {phase: round(spent, 3) for phase, spent in found.items() if spent}


def _ops(store: Store, mine: NDArray[np.intp], plain: NDArray[np.uint8]) -> Ops:
    known = catalogue(store)
    pairs = np.stack([known.codes[each][mine] for each in (Kind.OP, Kind.VARIANT)])
    applies = (pairs[0] != 0) & ~np.isin(plain, [int(each) for each in NOT_ELIGIBLE])
    present, places = np.unique(pairs[:, applies], axis=1, return_inverse=True)
    table = np.bincount(places.ravel() * CODES + plain[applies], minlength=present.shape[1] * CODES)
    words: dict[str, set[str]] = {"served": set(), "fallen": set(), "excluded": set(), "failing": set()}
    for op, variant, row in zip(*present.tolist(), table.reshape(-1, CODES), strict=True):
        name = ".".join(part for part in (known.labels[op], known.labels[variant]) if part)
        words[_word(row)].add(name)
    return Ops(**{word: frozenset(names) for word, names in words.items()})


def _word(row: NDArray[np.integer]) -> str:
    if row[Outcome.PASS]:
        return "served"
    if row[Outcome.FALLBACK]:
        return "fallen"
    return "excluded" if row[Outcome.SKIP_COVERAGE] == row.sum() else "failing"


def _compared(point: Point, before: Point | None) -> Point:
    if before is None:
        return point
    now, then = point.ops, before.ops
    both = _every(now) & _every(then)
    gained, lost = (now.served - then.served) & both, (then.served - now.served) & both
    return replace(point, gained=sorted(gained), lost=sorted(lost))


def _every(ops: Ops) -> frozenset[str]:
    return ops.served | ops.fallen | ops.excluded | ops.failing
