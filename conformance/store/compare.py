"""Two stored runs side by side: vectors read, renames applied, selections looked at, rows read where asked for."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conformance import diff, plan, renaming
from conformance.diff import Side
from conformance.errors import UsageError
from conformance.outcomes import Outcome, TestId
from conformance.pairs import PairClass
from conformance.renaming import Renames
from conformance.store import phrases, readings
from conformance.store.catalogue import catalogue, numbered_tests
from conformance.store.phrases import Kind
from conformance.store.results import ops_of
from conformance.store.runs import RunRow
from conformance.store.store import Store, phrase_bodies


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What became of every test in either plan. `classes[n]` is the PairClass of test n, 0 when neither planned it.

    `reasons` are numbers of phrases; `renamed` maps a test's number to the number it had in run a; `sides` are the
    vectors that were compared, tests of run a already under their new numbers.
    """

    a: RunRow
    b: RunRow
    sides: tuple[Side, Side]
    classes: NDArray[np.uint8]
    reasons: NDArray[np.int32]
    renamed: Mapping[int, int]

    @property
    def counts(self) -> dict[PairClass, int]:
        """Tests by class; they add up to the tests in either plan."""
        return diff.counts(self.classes)

    @property
    def transitions(self) -> dict[tuple[Outcome | None, Outcome | None], int]:
        """Tests by outcome in a and in b."""
        return diff.transitions(*self.sides)

    @property
    def comparable(self) -> int:
        """Tests that could be compared."""
        return diff.comparable(self.classes)

    @property
    def blocking(self) -> int:
        """Tests of a class that blocks a release."""
        return diff.blocking(self.classes)


def compare(store: Store, a: RunRow, b: RunRow, renames: Renames | None = None) -> Comparison:
    """Compare two stored runs. Raises UsageError for a simulated one beside a real one."""
    if a.simulated != b.simulated:
        simulated, real = (a, b) if a.simulated else (b, a)
        raise UsageError(
            f"run {simulated.uid} is simulated and run {real.uid} is of real hardware: these are never compared"
        )
    names = renaming.shipped() if renames is None else renames

    def make() -> Comparison:
        return _compare(store, a, b, names)

    key = ("comparison", a.number, a.digest, b.number, b.digest, names.words)
    return store.cache.get(key, make, lambda each: each.classes.nbytes * 25)


def _compare(store: Store, a: RunRow, b: RunRow, renames: Renames) -> Comparison:
    before, after = _side(store, a), _side(store, b)
    size = max(len(before.status), len(after.status))
    before, after = before.extended(size), after.extended(size)
    moved = _moves(store, renames, before, after)
    before = before.renamed(moved)
    only_a, only_b = (np.flatnonzero((x.status != 0) & (y.status == 0)) for x, y in ((before, after), (after, before)))
    probed_a, probed_b = _probed(store, a, size), _probed(store, b, size)
    probed_a[list(moved.values())] = probed_a[list(moved)]
    classes = diff.classify(
        diff.unprobed(before, probed_a, after, probed_b), diff.unprobed(after, probed_b, before, probed_a),
        selected_a=_selected(store, a, b, only_b, size), selected_b=_selected(store, b, a, only_a, size),
        relations=_relations(store, before, after),
    )  # fmt: skip
    return Comparison(
        a=a, b=b, sides=(before, after), classes=classes, reasons=diff.reasons(classes, before, after),
        renamed={new: old for old, new in moved.items()},
    )  # fmt: skip


def _side(store: Store, run: RunRow) -> Side:
    numbers = {name: readings.phrase_numbers(store, run, name) for name in ("cause", "fallback", "rule")}
    return Side(status=readings.status(store, run), definition=readings.definition(store, run), **numbers)


def _probed(store: Store, run: RunRow, size: int) -> NDArray[np.bool_]:
    column = readings.side(store, run, "probed").astype(np.bool_)
    return np.pad(column, (0, size - len(column)))


def _moves(store: Store, renames: Renames, a: Side, b: Side) -> dict[int, int]:
    """Old number to new one, for renames of a test that only a has to one that only b has."""
    keys = dict(renames.tests)
    if renames.wide:
        keys |= _wide(store, renames, np.flatnonzero((a.status != 0) & (b.status == 0)))
    if not keys:
        return {}
    wanted = {phrases.digest(key): key for pair in keys.items() for key in pair}
    rows = store.rows("SELECT id, digest FROM test WHERE digest = ANY(:wanted)", wanted=list(wanted))
    numbers = {wanted[bytes(row["digest"])]: int(row["id"]) for row in rows if row["id"] < len(a.status)}
    pairs = [(numbers[old], numbers[new]) for old, new in keys.items() if old in numbers and new in numbers]
    return {
        old: new
        for old, new in pairs
        if a.status[old] and not b.status[old] and b.status[new] and not a.status[new]
    }  # fmt: skip


def _wide(store: Store, renames: Renames, gone: NDArray[np.intp]) -> dict[str, str]:
    """Old key to new one for tests that are gone and whose op, class or file was renamed."""
    known = catalogue(store)
    files = {*renames.files, *(each.partition("::")[0] for each in renames.classes)}
    ops = {name for each in renames.ops for name in (each, each.rpartition(".")[0])}
    near = np.isin(known.codes[Kind.FILE][gone], [known.code(Kind.FILE, each) for each in files])
    near |= np.isin(known.codes[Kind.OP][gone], [known.code(Kind.OP, each) for each in ops if each])
    tests = [row.id for row in numbered_tests(store, gone[near].tolist()).values()]
    return {test.key: renames.renamed(test) for test in tests if renames.concerns(test)}


def _relations(store: Store, a: Side, b: Side) -> dict[tuple[int, int], diff.Relation]:
    pairs = diff.unequal_sets(a, b)
    bodies = phrase_bodies(store, [each for pair in pairs for each in pair])
    sets = {number: frozenset(ops_of(body)) for number, body in bodies.items()}
    return {(first, second): diff.relate(sets[first], sets[second]) for first, second in pairs}


def _selected(store: Store, run: RunRow, other: RunRow, alone: NDArray[np.intp], size: int) -> NDArray[np.bool_]:
    """Whether the tests that only the other run planned (`alone`) lie in this run's selection, shape (size,)."""
    selected = np.zeros(size, np.bool_)
    if not len(alone):
        return selected
    if run.selection.keys:
        tests = numbered_tests(store, alone.tolist())
        selected[alone] = [plan.covers(run.selection, tests[each].id, other.profile) for each in alone.tolist()]
    else:
        selected[alone] = _selected_by_parts(store, run, other, alone)
    return selected


def _selected_by_parts(store: Store, run: RunRow, other: RunRow, alone: NDArray[np.intp]) -> NDArray[np.bool_]:
    """The same by suite, file and op alone, each combination looked at once."""
    known = catalogue(store)
    parts = (Kind.SUITE, Kind.FILE, Kind.OP)
    found, places = np.unique(np.stack([known.codes[each][alone] for each in parts]), axis=1, return_inverse=True)
    answers = []
    for codes in found.T.tolist():
        suite, file, op = (known.labels[each] for each in codes)
        test = TestId(suite=suite, file=file, cls="", name="", op=op)
        answers.append(plan.covers(run.selection, test, other.profile))
    return np.array(answers, np.bool_)[places.reshape(-1)]
