"""Two runs side by side as vectors: the class of every test, counts, transitions and groups. Pure functions.

All vectors are indexed by the test's number. The class of a pair comes from one lookup table, built from the table of
pairs once, so that 154,000 tests are compared in a few milliseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from conformance.outcomes import FLAKY, Outcome
from conformance.pairs import BLOCKING, NOT_COMPARABLE, PairClass, pair_class, presence_class
from conformance.settlement import RIGHT

_CODES: Final = max(Outcome) + 1
_BASE, _MORE = frozenset({"a"}), frozenset({"a", "b"})


class Relation(IntEnum):
    """How the fallback sets of the two sides relate; the numbers index the table."""

    EQUAL = 0
    SUPERSET = 1
    SUBSET = 2
    OTHER = 3


_EXAMPLES: Final[Mapping[Relation, tuple[frozenset[str], frozenset[str]]]] = {
    Relation.EQUAL: (_BASE, _BASE),
    Relation.SUPERSET: (_BASE, _MORE),
    Relation.SUBSET: (_MORE, _BASE),
    Relation.OTHER: (_BASE, frozenset({"b"})),
}
"""A pair of op sets for each relation, read from a to b: SUPERSET means that b falls back with more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One run: status bytes, definition hashes, and the numbers of its cause, fallback set and rule; shape (tests,)."""

    status: NDArray[np.uint8]
    definition: NDArray[np.uint64]
    cause: NDArray[np.int32]
    fallback: NDArray[np.int32]
    rule: NDArray[np.int32]

    def extended(self, size: int) -> "Side":
        """The same with room for `size` tests; those added were not planned."""
        grow = size - len(self.status)
        return self if grow <= 0 else self._made({name: np.pad(column, (0, grow)) for name, column in self._columns()})

    def renamed(self, names: Mapping[int, int]) -> "Side":
        """The same with the tests of old numbers (keys) standing at their new numbers (values)."""
        if not names:
            return self
        moved = {}
        for name, column in self._columns():
            moved[name] = column.copy()
            moved[name][list(names.values())] = column[list(names)]
            moved[name][list(names)] = 0
        return self._made(moved)

    @staticmethod
    def _made(columns: Mapping[str, NDArray[Any]]) -> "Side":
        return Side(**columns)

    def _columns(self) -> list[tuple[str, NDArray[Any]]]:
        return [(name, getattr(self, name)) for name in ("status", "definition", "cause", "fallback", "rule")]


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Tests of one class that changed for one reason. `phrase` is the reason's number, `example` the first test's."""

    pair: PairClass
    phrase: int
    count: int
    example: int


@cache
def _table() -> NDArray[np.uint8]:
    """The class by (outcome a, outcome b, same definition, same cause, relation); 0 where a side has no outcome."""
    table = np.zeros((_CODES, _CODES, 2, 2, len(Relation)), np.uint8)
    for a in Outcome:
        for b in Outcome:
            for relation, (ops_a, ops_b) in _EXAMPLES.items():
                for same in ((0, 0), (0, 1), (1, 0), (1, 1)):
                    table[a, b, *same, relation] = pair_class(
                        a, b, same_definition=bool(same[0]), same_cause=bool(same[1]), ops_a=ops_a, ops_b=ops_b
                    )
    return table.reshape(-1)


def relate(a: frozenset[str], b: frozenset[str]) -> Relation:
    """How the ops that fell back in b relate to those in a."""
    if a == b:
        return Relation.EQUAL
    if a < b:
        return Relation.SUPERSET
    return Relation.SUBSET if b < a else Relation.OTHER


def unequal_sets(a: Side, b: Side) -> set[tuple[int, int]]:
    """The pairs of different fallback sets that tests met; `classify` needs the relation of each."""
    met = _unequal(a, b)
    pairs = np.unique(np.stack([a.fallback[met], b.fallback[met]], axis=1), axis=0)
    return {(int(each[0]), int(each[1])) for each in pairs}


def _unequal(a: Side, b: Side) -> NDArray[np.intp]:
    return np.flatnonzero((a.fallback != b.fallback) & (a.fallback != 0) & (b.fallback != 0))


def classify(
    a: Side,
    b: Side,
    *,
    selected_a: NDArray[np.bool_],
    selected_b: NDArray[np.bool_],
    relations: Mapping[tuple[int, int], Relation],
) -> NDArray[np.uint8]:
    """The PairClass of each test in either plan, 0 for tests in neither; shape (tests,).

    `selected_a` and `selected_b` say whether a test lies in a side's selection, and are read only for tests that this
    side did not plan. Both sides must be equally long.
    """
    codes_a, codes_b = a.status & ~np.uint8(FLAKY), b.status & ~np.uint8(FLAKY)
    place = codes_a.astype(np.intp)
    place *= _CODES
    place += codes_b
    place *= 4 * len(Relation)
    place += (a.definition == b.definition) * np.uint8(2 * len(Relation))
    place += (a.cause == b.cause) * np.uint8(len(Relation))
    _add_relations(place, a, b, relations)
    classes: NDArray[np.uint8] = _table()[place]
    _place_missing(classes, codes_a != 0, codes_b != 0, selected_a, selected_b)
    return classes


def unprobed(own: Side, probed: NDArray[np.bool_], beside: Side, probed_beside: NDArray[np.bool_]) -> Side:
    """A side as it is compared: a test right only because it was probed is the skip that the other side did not probe.

    `probed` and `probed_beside` say which tests were probed, shape (tests,).
    """
    skipped = (beside.status & ~np.uint8(FLAKY) == Outcome.SKIP_COVERAGE) & ~probed_beside
    doubtful = probed & skipped
    if not doubtful.any():
        return own
    right = np.isin(own.status & ~np.uint8(FLAKY), [int(each) for each in RIGHT])
    return replace(own, status=np.where(doubtful & right, np.uint8(Outcome.SKIP_COVERAGE), own.status))


def _add_relations(place: NDArray[np.intp], a: Side, b: Side, relations: Mapping[tuple[int, int], Relation]) -> None:
    met = _unequal(a, b)
    pairs = zip(a.fallback[met].tolist(), b.fallback[met].tolist(), strict=True)
    place[met] += np.fromiter((relations[each] for each in pairs), np.intp, len(met))
    # A side that fell back without naming an op has the empty set: whatever the other names is more, or less.
    one = (a.status & ~np.uint8(FLAKY) == Outcome.FALLBACK) & (b.status & ~np.uint8(FLAKY) == Outcome.FALLBACK)
    place[one & (a.fallback == 0) & (b.fallback != 0)] += Relation.SUPERSET
    place[one & (a.fallback != 0) & (b.fallback == 0)] += Relation.SUBSET


def _place_missing(
    classes: NDArray[np.uint8],
    in_a: NDArray[np.bool_],
    in_b: NDArray[np.bool_],
    selected_a: NDArray[np.bool_],
    selected_b: NDArray[np.bool_],
) -> None:
    for present, absent, selected, is_a in ((in_a, in_b, selected_b, True), (in_b, in_a, selected_a, False)):
        alone = present & ~absent
        if not alone.any():
            continue
        for covered in (False, True):
            found = presence_class(in_a=is_a, in_b=not is_a, selected_a=covered, selected_b=covered)
            classes[alone & (selected == covered)] = found or 0


def counts(classes: NDArray[np.uint8]) -> dict[PairClass, int]:
    """How many tests are of each class; classes without one are left out."""
    found = np.bincount(classes, minlength=max(PairClass) + 1)
    return {each: int(found[each]) for each in PairClass if found[each]}


def transitions(a: Side, b: Side) -> dict[tuple[Outcome | None, Outcome | None], int]:
    """How many tests went from one outcome to another; None for a side that did not plan the test."""
    codes_a, codes_b = (each.status & ~np.uint8(FLAKY) for each in (a, b))
    found = np.bincount(codes_a.astype(np.intp) * _CODES + codes_b, minlength=_CODES * _CODES)
    made = {}
    for place in np.flatnonzero(found).tolist():
        before, after = divmod(place, _CODES)
        if place:
            made[Outcome(before) if before else None, Outcome(after) if after else None] = int(found[place])
    return made


def blocking(classes: NDArray[np.uint8]) -> int:
    """How many tests block a release."""
    return int(np.isin(classes, [int(each) for each in BLOCKING]).sum())


def comparable(classes: NDArray[np.uint8]) -> int:
    """How many tests could be compared at all."""
    return int((classes != 0).sum() - np.isin(classes, [int(each) for each in NOT_COMPARABLE]).sum())


_REASON: Final[Mapping[PairClass, tuple[str, str]]] = {
    PairClass.REGRESSED: ("b", "cause"),
    PairClass.NOW_FAILS: ("b", "cause"),
    PairClass.WORSE: ("b", "cause"),
    PairClass.BETTER: ("b", "cause"),
    PairClass.CHANGED_FAILURE: ("b", "cause"),
    PairClass.FIXED: ("a", "cause"),
    PairClass.FELL_BACK: ("b", "fallback"),
    PairClass.FALLBACK_CHANGED: ("b", "fallback"),
    PairClass.CAME_HOME: ("a", "fallback"),
    PairClass.LOST_COVERAGE: ("b", "rule"),
    PairClass.LOST_PROOF: ("b", "rule"),
    PairClass.GAINED_COVERAGE: ("a", "rule"),
    PairClass.PROVEN: ("a", "rule"),
    PairClass.ENVIRONMENT_CHANGED: ("b", "rule"),
    PairClass.ELIGIBILITY_CHANGED: ("b", "rule"),
    PairClass.INFRA_EITHER: ("b", "rule"),
}
"""Where the reason of a class is told: the side, and the column; a side that says nothing leaves it to the other."""


def reasons(classes: NDArray[np.uint8], a: Side, b: Side) -> NDArray[np.int32]:
    """The number of the phrase that tells why each test is in its class; 0 where there is nothing to tell."""
    found = np.zeros(len(classes), np.int32)
    for pair, (where, name) in _REASON.items():
        chosen = np.flatnonzero(classes == pair)
        first, second = (a, b) if where == "a" else (b, a)
        said = getattr(first, name)[chosen]
        for column in (first.rule, getattr(second, name), second.rule):
            said = np.where(said == 0, column[chosen], said)
        found[chosen] = said
    return found


def groups(classes: NDArray[np.uint8], phrases: NDArray[np.int32]) -> list[Group]:
    """Tests other than `same` by class and reason, the largest group of each class first."""
    moved = np.flatnonzero((classes != 0) & (classes != PairClass.SAME))
    pairs = np.stack([classes[moved].astype(np.int64), phrases[moved].astype(np.int64)], axis=1)
    found, first, size = np.unique(pairs, axis=0, return_index=True, return_counts=True)
    made = [
        Group(pair=PairClass(int(pair)), phrase=int(phrase), count=int(count), example=int(moved[place]))
        for (pair, phrase), place, count in zip(found, first, size, strict=True)
    ]
    return sorted(made, key=lambda each: (each.pair, -each.count, each.example))
