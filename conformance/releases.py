"""One release from several: runs of the same release combined by the worst, or past releases by the best.

Pure functions over vectors of equal length. Nothing is averaged and nothing is left out: every test stands as one of
its runs had it, and `picked` says which.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from conformance.diff import Side
from conformance.outcomes import BADNESS, FLAKY, Outcome
from conformance.pairs import SIDE
from conformance.pairs import Side as Group

NOBODY: Final = -1
"""In `picked`: no run planned the test."""

_IDLE: Final = (Outcome.INFRA, Outcome.NOT_RUN)
"""Outcomes that say nothing of the test: they stand only where no run has another."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Combined:
    """What stands for each test, and the place of the run that it is from, NOBODY for none; shape (tests,)."""

    side: Side
    picked: NDArray[np.int16]


def _ranks(order: Sequence[Outcome]) -> NDArray[np.int16]:
    """The rank of every status code; a code that is in no plan has rank -1."""
    ranks = np.full(128, -1, np.int16)
    for rank, outcome in enumerate(order):
        ranks[outcome] = rank
    return ranks


_WORST: Final = _ranks(sorted(Outcome, key=lambda each: (each not in _IDLE, BADNESS[each])))
"""Rising with badness; what the machine did is below everything else."""

_GROUPS: Final = (Group.FAILURE, Group.SKIP, Group.FALLBACK, Group.UNPROVEN, Group.PASS)


def _goodness(outcome: Outcome) -> tuple[int, int, int]:
    """Where an outcome stands among those of past releases, the best highest."""
    if outcome in _IDLE:
        return (0, 0, 0)
    if outcome not in SIDE:
        return (1, 0, 0)
    read = Outcome.FAIL if outcome is Outcome.XFAIL else outcome
    return (2, _GROUPS.index(SIDE[outcome]), -BADNESS[read])


_BEST: Final = _ranks(sorted(Outcome, key=_goodness))


def worst(sides: Sequence[Side]) -> Combined:
    """Several runs of one release, newest first: the worst outcome stands, disagreement is flaky.

    A test stands by its newest definition; runs that had another do not count. Of equally bad runs the newest is shown.
    """
    newest = _newest_definitions(sides)
    codes = np.stack([each.status & ~np.uint8(FLAKY) for each in sides])
    codes[np.stack([each.definition for each in sides]) != newest] = 0
    picked = _highest(codes, _WORST)
    side = _taken(sides, picked)
    real = (codes != 0) & ~np.isin(codes, [int(each) for each in _IDLE])
    flaky = (real & (np.stack([each.status for each in sides]) & FLAKY != 0)).any(axis=0)
    standing = side.status & ~np.uint8(FLAKY)
    flaky |= (real & (codes != standing)).any(axis=0)
    return Combined(side=_with_status(side, standing | flaky * np.uint8(FLAKY)), picked=picked)


def best(sides: Sequence[Side], definition: NDArray[np.uint64]) -> Combined:
    """Past releases, newest first: per test the best outcome among those that had it as it is defined now.

    `definition` are the hashes of the candidate. A test that none of them had so is taken from the newest that had it:
    it has changed since, or is gone. A test that is gone is compared with nothing, so the newest stands for it too.
    """
    codes = np.stack([each.status & ~np.uint8(FLAKY) for each in sides])
    same = np.stack([each.definition for each in sides]) == definition
    picked = _highest(np.where(same, codes, np.uint8(0)), _BEST)
    there = codes != 0
    newest = np.where(there.any(axis=0), there.argmax(axis=0), NOBODY).astype(np.int16)
    picked = np.where(picked == NOBODY, newest, picked)
    return Combined(side=_taken(sides, picked), picked=picked)


def _newest_definitions(sides: Sequence[Side]) -> NDArray[np.uint64]:
    found = sides[-1].definition
    for each in reversed(sides[:-1]):
        found = np.where(each.status != 0, each.definition, found)
    return found


def _highest(codes: NDArray[np.uint8], ranks: NDArray[np.int16]) -> NDArray[np.int16]:
    """The first place of the highest rank in each column; shape (sides, tests) to (tests,)."""
    ranked = ranks[codes]
    picked = ranked.argmax(axis=0).astype(np.int16)
    return np.where(ranked.max(axis=0) < 0, np.int16(NOBODY), picked)


def _taken(sides: Sequence[Side], picked: NDArray[np.int16]) -> Side:
    """Every column from the side that was picked; zero where none was."""
    columns = {}
    for field in fields(Side):
        stacked = np.stack([getattr(each, field.name) for each in sides])
        found = np.take_along_axis(stacked, np.maximum(picked, 0)[None, :].astype(np.intp), axis=0)[0]
        columns[field.name] = np.where(picked == NOBODY, np.zeros((), found.dtype), found)
    return Side(**columns)


def _with_status(side: Side, status: NDArray[np.uint8]) -> Side:
    return Side(
        status=status.astype(np.uint8), definition=side.definition, cause=side.cause, fallback=side.fallback,
        rule=side.rule,
    )  # fmt: skip
