"""The vectors of one side of a comparison, put together from the runs that stand for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from conformance import plan, releases
from conformance.diff import Side
from conformance.outcomes import TestId
from conformance.plan import Selection
from conformance.releases import NOBODY
from conformance.store import readings
from conformance.store.catalogue import catalogue, numbered_tests
from conformance.store.phrases import Kind
from conformance.store.runs import RunRow
from conformance.store.standings import Part, Standing
from conformance.store.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """One side. `picked[n]` is the place in `runs` of the run that stands for test n, NOBODY for none.

    `selections` are what the runs were asked for. `renamed` maps a test's number here to the number it has in the
    stored vectors of the run. All vectors have the shape (tests,).
    """

    side: Side
    probed: NDArray[np.bool_]
    picked: NDArray[np.int16]
    runs: tuple[RunRow, ...]
    selections: tuple[Selection, ...]
    renamed: Mapping[int, int]

    def extended(self, size: int) -> "Built":
        """The same with room for `size` tests."""
        grow = size - len(self.picked)
        if grow <= 0:
            return self
        return Built(
            side=self.side.extended(size), probed=np.pad(self.probed, (0, grow)),
            picked=np.pad(self.picked, (0, grow), constant_values=NOBODY), runs=self.runs, selections=self.selections,
            renamed=self.renamed,
        )  # fmt: skip

    def moved(self, names: Mapping[int, int]) -> "Built":
        """The same with the tests of old numbers (keys) standing at their new numbers (values)."""
        if not names:
            return self
        old, new = list(names), list(names.values())
        probed, picked = self.probed.copy(), self.picked.copy()
        probed[new], picked[new] = self.probed[old], self.picked[old]
        probed[old], picked[old] = False, NOBODY
        return Built(
            side=self.side.renamed(names), probed=probed, picked=picked, runs=self.runs, selections=self.selections,
            renamed={**self.renamed, **dict(zip(new, old, strict=True))},
        )  # fmt: skip


def built(store: Store, standing: Standing) -> Built:
    """The runs of a standing combined: of several the worst outcome of each test stands."""

    def make() -> Built:
        return _built(store, standing)

    return store.cache.get(("side", standing.key), make, lambda each: each.picked.nbytes * 14)


def _built(store: Store, standing: Standing) -> Built:
    size = max(len(readings.status(store, each.run)) for each in standing.parts)
    sides = [_part(store, each).extended(size) for each in standing.parts]
    if len(sides) == 1:
        picked = np.where(sides[0].status != 0, 0, NOBODY).astype(np.int16)
        combined = releases.Combined(side=sides[0], picked=picked)
    else:
        combined = releases.worst(sides)
    return Built(
        side=combined.side, probed=_probed(store, standing.runs, combined.picked), picked=combined.picked,
        runs=standing.runs, selections=tuple(map(_selection, standing.parts)), renamed={},
    )  # fmt: skip


def _part(store: Store, part: Part) -> Side:
    run = part.run
    numbers = {name: readings.phrase_numbers(store, run, name) for name in ("cause", "fallback", "rule")}
    status = readings.status(store, run)
    if part.suites:
        known = catalogue(store)
        codes = [known.code(Kind.SUITE, each) for each in part.suites]
        status = np.where(np.isin(known.codes[Kind.SUITE][: len(status)], codes), status, np.uint8(0))
    return Side(status=status, definition=readings.definition(store, run), **numbers)


def _probed(store: Store, runs: Sequence[RunRow], picked: NDArray[np.int16]) -> NDArray[np.bool_]:
    probed = np.zeros(len(picked), np.bool_)
    for place, run in enumerate(runs):
        column = readings.side(store, run, "probed").astype(np.bool_)
        probed[: len(column)] |= column & (picked[: len(column)] == place)
    return probed


def _selection(part: Part) -> Selection:
    suites = tuple(sorted(part.suites)) or part.run.selection.suites
    return msgspec.structs.replace(part.run.selection, suites=suites)


def best_of(found: Sequence[Built], definition: NDArray[np.uint64]) -> Built:
    """Past releases, newest first, as one side: the best outcome of each test, as `releases.best` has it."""
    if len(found) == 1:
        return found[0]
    combined = releases.best([each.side for each in found], definition)
    runs = [run for each in found for run in each.runs]
    probed, picked = np.zeros(len(definition), np.bool_), np.full(len(definition), NOBODY, np.int16)
    renamed, before = dict[int, int](), 0
    for place, each in enumerate(found):
        mine = combined.picked == place
        probed[mine], picked[mine] = each.probed[mine], each.picked[mine] + before
        renamed |= {new: old for new, old in each.renamed.items() if mine[new]}
        before += len(each.runs)
    return Built(
        side=combined.side, probed=probed, picked=picked, runs=tuple(runs),
        selections=tuple(one for each in found for one in each.selections), renamed=renamed,
    )  # fmt: skip


def selected(store: Store, mine: Built, other: Built, alone: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether the tests that only the other side planned (`alone`) lie in this side's selection, shape (tests,)."""
    found = np.zeros(len(mine.picked), np.bool_)
    for place, run in enumerate(other.runs):
        here = alone[other.picked[alone] == place]
        if len(here):
            for each in mine.selections:
                found[here] |= _covered(store, each, run.profile, here)
    return found


def _covered(store: Store, selection: Selection, profile: str, numbers: NDArray[np.intp]) -> NDArray[np.bool_]:
    if selection.keys:
        tests = numbered_tests(store, numbers.tolist())
        return np.array([plan.covers(selection, tests[each].id, profile) for each in numbers.tolist()], np.bool_)
    return _covered_by_parts(store, selection, profile, numbers)


def _covered_by_parts(store: Store, selection: Selection, profile: str, numbers: NDArray[np.intp]) -> NDArray[np.bool_]:
    """The same by the parts of an identity that a selection looks at, each combination looked at once."""
    known = catalogue(store)
    parts = (Kind.SUITE, Kind.FILE, Kind.CLS, Kind.OP, Kind.DTYPE, Kind.KIND)
    found, places = np.unique(np.stack([known.codes[each][numbers] for each in parts]), axis=1, return_inverse=True)
    answers = []
    for codes in found.T.tolist():
        suite, file, cls, op, dtype, kind = (known.labels[each] for each in codes)
        test = TestId(suite=suite, file=file, cls=cls, name="", op=op, dtype=dtype, kind=kind)
        answers.append(plan.covers(selection, test, profile))
    return np.array(answers, np.bool_)[places.reshape(-1)]
