"""A run counted by op, dtype, kind, suite or rule. Counts always come from the status vector, so none can drift."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from conformance import outcomes
from conformance.outcomes import FLAKY, Outcome
from conformance.store import readings
from conformance.store.catalogue import Catalogue, catalogue
from conformance.store.phrases import Kind
from conformance.store.results import Filter, mask
from conformance.store.runs import RunRow
from conformance.store.store import Store, phrase_bodies

CODES: Final = 64
"""Outcome codes stay below this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """The tests of a run with one label, by outcome."""

    label: str
    counts: Mapping[Outcome, int]

    @property
    def planned(self) -> int:
        """Tests with this label."""
        return sum(self.counts.values())

    @property
    def eligible(self) -> int:
        """Those that count: planned less skip_eligibility, invalid and infra."""
        return outcomes.eligible(self.counts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """A run by op and dtype: `counts[i, j, code]` tests of ops[i] and dtypes[j] ended as the outcome of that code."""

    ops: Sequence[str]
    dtypes: Sequence[str]
    counts: NDArray[np.int32]


def tally(store: Store, run: RunRow, by: Kind, chosen: Filter | None = None) -> list[Tally]:
    """Counts by a part of the identity (SUITE, FILE, CLS, OP, VARIANT, DTYPE, KIND) or by RULE or CAUSE."""
    status = readings.status(store, run)
    wanted = mask(store, run, chosen or Filter())
    if by in (Kind.RULE, Kind.CAUSE):
        codes = readings.phrase_numbers(store, run, by.name.lower())
        labels: Mapping[int, str] = phrase_bodies(store, np.unique(codes[wanted]).tolist())
    else:
        known = catalogue(store)
        codes, labels = known.codes[by][: len(status)], known.labels
    return _tallies(codes[wanted], status[wanted], labels)


def _tallies(codes: NDArray[np.int32], status: NDArray[np.uint8], labels: Mapping[int, str]) -> list[Tally]:
    present, places = np.unique(codes, return_inverse=True)
    counts = np.bincount(places * CODES + (status & ~np.uint8(FLAKY)), minlength=len(present) * CODES)
    table = counts.reshape(len(present), CODES)
    made = [Tally(label=labels[int(code)], counts=by_outcome(row)) for code, row in zip(present, table, strict=True)]
    return sorted(made, key=lambda each: each.label)


def by_outcome(row: NDArray[np.integer]) -> dict[Outcome, int]:
    """Counts by code, shape (codes,), as counts by outcome without zeros."""
    return {each: int(row[each]) for each in Outcome if row[each]}


def matrix(store: Store, run: RunRow, chosen: Filter | None = None) -> Matrix:
    """A run by op and dtype, tests without an op left out; `chosen` restricts it, for instance to one kind."""
    known, status = catalogue(store), readings.status(store, run)
    ops, dtypes = known.codes[Kind.OP][: len(status)], known.codes[Kind.DTYPE][: len(status)]
    wanted = mask(store, run, chosen or Filter()) & (ops != 0)
    names, rows = _axis(known, ops[wanted])
    heads, columns = _axis(known, dtypes[wanted])
    places = (rows * len(heads) + columns) * CODES + (status[wanted] & ~np.uint8(FLAKY))
    counts = np.bincount(places, minlength=len(names) * len(heads) * CODES).astype(np.int32)
    return Matrix(ops=names, dtypes=heads, counts=counts.reshape(len(names), len(heads), CODES))


def _axis(known: Catalogue, codes: NDArray[np.int32]) -> tuple[list[str], NDArray[np.int64]]:
    """Sorted labels, and the place of each test among them."""
    present, places = np.unique(codes, return_inverse=True)
    names = [known.labels[int(each)] for each in present]
    order = sorted(range(len(names)), key=names.__getitem__)
    ranks = np.empty(len(names), np.int64)
    ranks[order] = np.arange(len(names))
    return [names[each] for each in order], ranks[places]
