"""The comparison by lookup table says of every test what the table of pairs says of it alone."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance import diff
from conformance.diff import Relation, Side
from conformance.outcomes import FLAKY, Outcome
from conformance.pairs import BLOCKING, PairClass, pair_class, presence_class

SETS: Mapping[int, frozenset[str]] = {
    0: frozenset(), 1: frozenset({"x"}), 2: frozenset({"y"}), 3: frozenset({"x", "y"}), 4: frozenset({"z"}),
}  # fmt: skip
RELATIONS = {(a, b): diff.relate(SETS[a], SETS[b]) for a, b in product(SETS, SETS) if a != b and a and b}

one = st.tuples(
    st.sampled_from([None, *Outcome]), st.booleans(), st.integers(1, 2), st.integers(0, 2), st.sampled_from(list(SETS))
)
"""A test on one side: outcome, flaky, definition, cause, fallback set (read only for an outcome `fallback`)."""

Test = tuple[Outcome | None, bool, int, int, int]


def side(tests: list[Test]) -> Side:
    return Side(
        status=np.array([0 if o is None else o | (FLAKY if flaky else 0) for o, flaky, *_ in tests], np.uint8),
        definition=np.array([0 if o is None else d for o, _, d, _, _ in tests], np.uint64),
        cause=np.array([0 if o is None else c for o, _, _, c, _ in tests], np.int32),
        fallback=np.array([f if o is Outcome.FALLBACK else 0 for o, _, _, _, f in tests], np.int32),
        rule=np.zeros(len(tests), np.int32),
    )


def expected(a: Test, b: Test, selected_a: bool, selected_b: bool) -> int:
    if a[0] is None and b[0] is None:
        return 0
    if a[0] is None or b[0] is None:
        found = presence_class(
            in_a=a[0] is not None, in_b=b[0] is not None, selected_a=selected_a, selected_b=selected_b
        )
        assert found is not None
        return found
    return pair_class(
        a[0], b[0], same_definition=a[2] == b[2], same_cause=a[3] == b[3], ops_a=SETS[a[4]], ops_b=SETS[b[4]]
    )


def classify(a: list[Test], b: list[Test], in_a: list[bool], in_b: list[bool]) -> list[int]:
    found = diff.classify(
        side(a), side(b), selected_a=np.array(in_a, np.bool_), selected_b=np.array(in_b, np.bool_), relations=RELATIONS
    )
    return [int(each) for each in found]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(one, one, st.booleans(), st.booleans()), max_size=60))
def test_the_lookup_table_equals_the_table_of_pairs_for_any_two_runs(
    rows: list[tuple[Test, Test, bool, bool]],
) -> None:
    a, b, in_a, in_b = ([row[place] for row in rows] for place in range(4))
    assert classify(a, b, in_a, in_b) == [expected(*row) for row in rows]  # type: ignore[arg-type]


def test_the_lookup_table_equals_the_table_of_pairs_for_every_combination() -> None:
    rows: list[tuple[Test, Test]] = []
    for first, second in product(Outcome, Outcome):
        for same_definition, same_cause in product((1, 2), (1, 2)):
            for before, after in product(SETS, SETS):
                rows.append(((first, False, 1, 1, before), (second, False, same_definition, same_cause, after)))
    found = classify([a for a, _ in rows], [b for _, b in rows], [True] * len(rows), [True] * len(rows))
    assert found == [expected(a, b, True, True) for a, b in rows]
    assert 0 not in found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(one, one), max_size=60))
def test_swapping_the_sides_transposes_every_class(rows: list[tuple[Test, Test]]) -> None:
    mirrored = {
        PairClass.ADDED: PairClass.REMOVED, PairClass.FELL_BACK: PairClass.CAME_HOME, PairClass.WORSE: PairClass.BETTER,
    }  # fmt: skip
    mirrored |= {after: before for before, after in mirrored.items()}
    symmetric = {
        PairClass.SAME, PairClass.TEST_CHANGED, PairClass.NOT_RUN_HERE, PairClass.INFRA_EITHER,
        PairClass.ENVIRONMENT_CHANGED, PairClass.ELIGIBILITY_CHANGED, PairClass.FALLBACK_CHANGED,
        PairClass.CHANGED_FAILURE,
    }  # fmt: skip
    yes = [True] * len(rows)
    there = classify([a for a, _ in rows], [b for _, b in rows], yes, yes)
    back = classify([b for _, b in rows], [a for a, _ in rows], yes, yes)
    for (a, b), one_way, other_way in zip(rows, there, back, strict=True):
        assert other_way == expected(b, a, True, True)
        if one_way in symmetric:
            assert one_way == other_way
        if {a[0], b[0]} == {Outcome.FALLBACK} or PairClass.ADDED in (one_way, other_way):
            assert mirrored.get(PairClass(one_way), one_way) == other_way


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(one, one), max_size=60))
def test_counts_transitions_and_groups_add_up_to_the_tests_in_either_plan(rows: list[tuple[Test, Test]]) -> None:
    a, b = side([a for a, _ in rows]), side([b for _, b in rows])
    yes = np.ones(len(rows), np.bool_)
    classes = diff.classify(a, b, selected_a=yes, selected_b=yes, relations=RELATIONS)
    either = sum(first[0] is not None or second[0] is not None for first, second in rows)
    counts = diff.counts(classes)
    assert sum(counts.values()) == either
    assert sum(diff.transitions(a, b).values()) == either
    groups = diff.groups(classes, diff.reasons(classes, a, b))
    assert sum(each.count for each in groups) == either - counts.get(PairClass.SAME, 0)
    assert diff.blocking(classes) == sum(counts.get(each, 0) for each in BLOCKING)


@pytest.mark.parametrize(
    ("a", "b", "relation"),
    [({"x"}, {"x"}, Relation.EQUAL), ({"x"}, {"x", "y"}, Relation.SUPERSET), ({"x", "y"}, {"y"}, Relation.SUBSET),
     ({"x"}, {"y"}, Relation.OTHER), (set(), {"y"}, Relation.SUPERSET)],
)  # fmt: skip
def test_a_relation_is_read_from_a_to_b(a: set[str], b: set[str], relation: Relation) -> None:
    assert diff.relate(frozenset(a), frozenset(b)) is relation


def test_a_renamed_test_stands_at_its_new_number_alone() -> None:
    moved = side([(Outcome.FAIL, False, 1, 2, 0), (None, False, 1, 0, 0)]).renamed({0: 1})
    assert moved.status.tolist() == [0, Outcome.FAIL]
    assert moved.cause.tolist() == [0, 2]


def test_a_shorter_side_did_not_plan_the_tests_beyond_its_end() -> None:
    longer = side([(Outcome.PASS, False, 1, 0, 0)]).extended(3)
    assert longer.status.tolist() == [Outcome.PASS, 0, 0]
    assert len(longer.definition) == 3
