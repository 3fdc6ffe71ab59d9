"""A run's catalogue joined with its outcomes: what stands for each model, and what that came to in each way."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conformance.errors import UsageError
from conformance.outcomes import FLAKY, Outcome
from conformance.plan import DEFAULT_DTYPES, DEFAULT_MODES, INVALID_MODEL, MODELS
from conformance.store import (
    Kind,
    ModelTable,
    RunRow,
    Store,
    TestRow,
    catalogue,
    find_models,
    newest_with_models,
    numbered_tests,
    resolve,
    status,
)

NOT_PLANNED: Final = "not_planned"
"""The word for a model whose signature a run did not plan in some way: it counts, and says nothing."""

MODES: Final = ("eager", "train", "compile")
"""Modes in the order in which they are shown."""


class Way(NamedTuple):
    """How models are run."""

    mode: str
    dtype: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Joined:
    """A run's models. `ways` are those that it planned; `status` and `numbers` have a value a stand for each.

    A status byte is 0 where the run planned no such test; what was refused has its outcome in every way. A number is
    that of the test, -1 where there is none.
    """

    run: RunRow
    table: ModelTable
    ways: Sequence[Way]
    status: Mapping[Way, NDArray[np.uint8]]
    numbers: Mapping[Way, NDArray[np.int32]]

    def words(self, way: Way) -> list[str]:
        """What each stand came to in a way: the outcome's word, or `not_planned`."""
        return [word_of(each) for each in self.status.get(way, self.refused()).tolist()]

    def refused(self) -> NDArray[np.uint8]:
        """The status of each stand in a way that the run did not plan."""
        return np.array([_refusal(each.outcome) for each in self.table.stands], np.uint8)

    def number(self, way: Way, stand: int) -> int | None:
        """The number of a stand's test; None where there is none."""
        found = int(self.numbers[way][stand]) if way in self.numbers else -1
        return found if found >= 0 else None

    def way(self, mode: str = "", dtype: str = "") -> Way:
        """The way of a mode and a dtype; what is not named is what the run has, eager and float32 first."""
        fits = [each for each in self.ways if mode in ("", each.mode) and dtype in ("", each.dtype)]
        return fits[0] if fits else Way(mode or DEFAULT_MODES[0], dtype or DEFAULT_DTYPES[0])


def word_of(status: int) -> str:
    """The word of a status byte."""
    return Outcome(status & ~FLAKY).word if status else NOT_PLANNED


def _refusal(word: str) -> int:
    return int(Outcome.from_word(word)) if word else 0


def load(store: Store, run: RunRow) -> Joined | None:
    """The models of a run; None for a run without any."""
    table = find_models(store, run)
    if table is None:
        return None
    return store.cache.get(
        ("joined", run.number, run.digest),
        lambda: _join(store, run, table),
        lambda made: 5 * len(table.stands) * max(1, len(made.ways)),
    )


def required(store: Store, name: str) -> tuple[Joined, str]:
    """The models of the run or release that is named, else of the newest run with some; and which run that is.

    Raises UsageError when there is no such run, or when it has no models.
    """
    if name:
        found = resolve(store, name)
        run, remark = found.run, found.remark
    else:
        newest = newest_with_models(store)
        if newest is None:
            raise UsageError("no run with models is stored: start one with 'conformance run --suite models'")
        run, remark = newest, f"the newest run with models is {newest.uid}"
    joined = load(store, run)
    if joined is None:
        raise UsageError(f"run {run.uid} has no models: run suite models, or name a run that did")
    return joined, remark


def _join(store: Store, run: RunRow, table: ModelTable) -> Joined:
    tests = _planned(store, run)
    stands = {each.name: place for place, each in enumerate(table.stands)}
    found = status(store, run)
    ways = sorted({_way(each) for each in tests if each.id.kind != INVALID_MODEL}, key=_order)
    size = len(table.stands)
    start = np.array([_refusal(each.outcome) for each in table.stands], np.uint8)
    made = {way: (start.copy(), np.full(size, -1, np.int32)) for way in ways}
    for each in tests:
        refused = each.id.kind == INVALID_MODEL
        place = stands.get(each.key if refused else each.id.name.partition("_")[0])
        for way in () if place is None else ways if refused else (_way(each),):
            made[way][0][place], made[way][1][place] = found[each.number], each.number
    return Joined(
        run=run, table=table, ways=ways, status={way: pair[0] for way, pair in made.items()},
        numbers={way: pair[1] for way, pair in made.items()},
    )  # fmt: skip


def _planned(store: Store, run: RunRow) -> Iterable[TestRow]:
    known, found = catalogue(store), status(store, run)
    ours = (known.codes[Kind.SUITE][: len(found)] == known.code(Kind.SUITE, MODELS)) & (found != 0)
    return numbered_tests(store, np.flatnonzero(ours).tolist()).values()


def _way(test: TestRow) -> Way:
    return Way(test.id.kind, test.id.dtype)


def _order(way: Way) -> tuple[int, int, Way]:
    """Modes as they build on each other, the default dtype first."""
    return (MODES.index(way.mode) if way.mode in MODES else len(MODES), way.dtype not in DEFAULT_DTYPES, way)
