"""Two sides next to each other: vectors combined, renames applied, selections looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from conformance import diff, renaming
from conformance.diff import Side
from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.pairs import PairClass
from conformance.renaming import Renames
from conformance.store import phrases, standings
from conformance.store.catalogue import catalogue, numbered_tests
from conformance.store.phrases import Kind
from conformance.store.results import ops_of
from conformance.store.runs import RunRow
from conformance.store.sides import Built, best_of, built, selected
from conformance.store.standings import Standing
from conformance.store.store import Store, phrase_bodies

Named: TypeAlias = RunRow | Standing


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What became of every test in either plan. `classes[n]` is the PairClass of test n, 0 when neither planned it.

    `a` and `b` are the newest runs of each side, `runs` all of them, and `picked` says for each side and test which of
    them it is from (NOBODY: none). `key` is what a cache needs to tell this from another. `reasons` are numbers of
    phrases; `renamed` maps a test's number to the number it had in run a; `sides` are the vectors that were compared,
    tests of side a already under their new numbers.
    """

    key: tuple[object, ...]
    a: RunRow
    b: RunRow
    runs: tuple[tuple[RunRow, ...], tuple[RunRow, ...]]
    picked: tuple[NDArray[np.int16], NDArray[np.int16]]
    sides: tuple[Side, Side]
    classes: NDArray[np.uint8]
    reasons: NDArray[np.int32]
    renamed: Mapping[int, int]

    @property
    def unsealed(self) -> list[RunRow]:
        """The runs with tests that have no outcome."""
        return [each for side in self.runs for each in side if not each.sealed]

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


def compare(store: Store, a: Named | Sequence[Standing], b: Named, renames: Renames | None = None) -> Comparison:
    """Compare two sides; of several releases as `a`, newest first, each test's best outcome is compared.

    Raises UsageError for a simulated run beside a real one.
    """
    before = [_standing(each) for each in ([a] if isinstance(a, RunRow | Standing) else a)]
    after = _standing(b)
    _require_alike([run for each in before for run in each.runs], after.runs)
    names = renaming.shipped() if renames is None else renames

    def make() -> Comparison:
        return _compare(store, before, after, names)

    key = ("comparison", tuple(each.key for each in before), after.key, names.words)
    return store.cache.get(key, make, lambda each: each.classes.nbytes * 25)


def _standing(named: Named) -> Standing:
    return named if isinstance(named, Standing) else standings.of_run(named)


def _require_alike(before: Sequence[RunRow], after: Sequence[RunRow]) -> None:
    every = [*before, *after]
    simulated = next((each for each in every if each.simulated), None)
    real = next((each for each in every if not each.simulated), None)
    if simulated and real:
        raise UsageError(
            f"run {simulated.uid} is simulated and run {real.uid} is of real hardware: these are never compared"
        )


def _compare(store: Store, before: Sequence[Standing], after: Standing, renames: Renames) -> Comparison:
    found, later = [built(store, each) for each in before], built(store, after)
    size = max(len(each.picked) for each in (*found, later))
    later = later.extended(size)
    earlier = best_of([_renamed(store, renames, each.extended(size), later) for each in found], later.side.definition)
    a, b = earlier.side, later.side
    only_a, only_b = (np.flatnonzero((x.status != 0) & (y.status == 0)) for x, y in ((a, b), (b, a)))
    classes = diff.classify(
        diff.unprobed(a, earlier.probed, b, later.probed), diff.unprobed(b, later.probed, a, earlier.probed),
        selected_a=selected(store, earlier, later, only_b), selected_b=selected(store, later, earlier, only_a),
        relations=_relations(store, a, b),
    )  # fmt: skip
    return Comparison(
        key=(tuple(each.key for each in before), after.key, renames.words), a=before[0].newest, b=after.newest,
        runs=(earlier.runs, later.runs), picked=(earlier.picked, later.picked), sides=(a, b), classes=classes,
        reasons=diff.reasons(classes, a, b), renamed=earlier.renamed,
    )  # fmt: skip


def _renamed(store: Store, renames: Renames, earlier: Built, later: Built) -> Built:
    return earlier.moved(_moves(store, renames, earlier.side, later.side))


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
