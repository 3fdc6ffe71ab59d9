"""What a policy is measured against: for any two sides the numbers of the suites are parts of one whole."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance import diff
from conformance.diff import Relation, Side
from conformance.errors import ExitCode
from conformance.gate import facts, judging, policy
from conformance.gate.facts import Facts, Vectors
from conformance.gate.judging import Word
from conformance.outcomes import FLAKY, Outcome
from conformance.pairs import BLOCKING, PairClass

ONE = st.tuples(st.sampled_from([0, *map(int, Outcome)]), st.booleans(), st.integers(1, 2))
ROWS = st.lists(st.tuples(ONE, ONE, st.booleans(), st.booleans()), min_size=1, max_size=40)
"""A test a row: each side's outcome, flaky bit and definition; whether it is of suite two, and was right once."""

Rows = list[tuple[tuple[int, bool, int], tuple[int, bool, int], bool, bool]]


def side(made: list[tuple[int, bool, int]]) -> Side:
    zeros = np.zeros(len(made), np.int32)
    return Side(
        status=np.array([code | (FLAKY if flaky and code else 0) for code, flaky, _ in made], np.uint8),
        definition=np.array([definition if code else 0 for code, _, definition in made], np.uint64),
        cause=zeros, fallback=zeros, rule=zeros,
    )  # fmt: skip


def judged(rows: Rows, text: str) -> tuple[Vectors, list[Facts]]:
    before, after = side([row[0] for row in rows]), side([row[1] for row in rows])
    every = np.ones(len(rows), np.bool_)
    classes = diff.classify(before, after, selected_a=every, selected_b=every, relations={(0, 0): Relation.EQUAL})
    once = np.array([row[3] for row in rows])
    vectors = Vectors(
        classes=classes, before=before, after=after, doubtful=once & (after.status & FLAKY != 0),
        steady=once & facts.possibly_steady(classes, before, after),
    )  # fmt: skip
    second = np.array([row[2] for row in rows])
    rules = policy.parse("p", text).rules("sim", "ops")
    there = classes != 0
    return vectors, [facts.of_suite(vectors, there & (second == each), str(each), rules) for each in (False, True)]


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from(["flaky = 'block'", "flaky = 'report'"]))
def test_the_suites_are_parts_of_the_comparison_and_what_is_let_off_is_part_of_what_blocks(
    rows: Rows, text: str
) -> None:
    vectors, found = judged(rows, text)
    total = {pair: sum(each.classes.get(pair, 0) for each in found) for pair in PairClass}
    assert {pair: number for pair, number in total.items() if number} == diff.counts(vectors.classes)
    assert sum(each.comparable for each in found) == diff.comparable(vectors.classes)
    assert sum(each.baseline for each in found) == np.count_nonzero(vectors.before.status)
    assert sum(each.candidate for each in found) == np.count_nonzero(vectors.after.status)
    blocked = np.any([each.blocked for each in found], axis=0)
    flaky = np.any([each.flaky for each in found], axis=0)
    assert not (blocked & flaky).any()
    expected = np.isin(vectors.classes, [int(each) for each in BLOCKING]) | vectors.steady
    assert ((blocked | flaky) == expected).all()
    for each in found:
        assert each.silenced <= each.right_before <= each.baseline
        assert each.fresh_right <= each.fresh <= each.candidate
        assert each.infra + each.unclassified <= each.candidate


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_nothing_may_ship_with_a_test_that_blocks_or_with_a_rule_that_is_not_met(rows: Rows) -> None:
    _, found = judged(rows, "")
    effective = sum(int(each.blocked.sum()) for each in found)
    unmet = judging.findings(found)
    word = judging.word(unmet, effective)
    assert (word is Word.MAY_SHIP) == (not effective and not unmet)
    assert (word.code is ExitCode.FINE) == (word is Word.MAY_SHIP)
    assert (word is Word.INCONCLUSIVE) == any(not each.conclusive for each in unmet)


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_a_side_beside_itself_has_nothing_that_blocks_but_steady_failures(rows: Rows) -> None:
    same: Rows = [(row[0], row[0], row[2], False) for row in rows]
    _, found = judged(same, "")
    assert not sum(int(each.blocked.sum()) for each in found)
    assert not sum(each.silenced + each.fresh for each in found if Outcome.NOT_RUN not in [row[0][0] for row in rows])
