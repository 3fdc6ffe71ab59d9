"""Every pair of outcomes is in exactly one class, and the classes are those of the vocabulary."""

import itertools

import pytest

from conformance.outcomes import BADNESS, Outcome
from conformance.pairs import BLOCKING, NOT_COMPARABLE, SIDE, TABLE, PairClass, Side, pair_class, presence_class

ONE, OTHER = frozenset({"aten::sin"}), frozenset({"aten::cos"})
PAIRS = list(itertools.product(Outcome, repeat=2))


def test_the_table_is_total() -> None:
    assert set(TABLE) == set(Side)
    for row in TABLE.values():
        assert set(row) == set(Side)


@pytest.mark.parametrize("same_definition", [True, False])
@pytest.mark.parametrize("same_cause", [True, False])
@pytest.mark.parametrize(("ops_a", "ops_b"), [(ONE, ONE), (ONE, OTHER), (ONE, ONE | OTHER), (ONE | OTHER, ONE)])
def test_every_pair_has_exactly_one_class(
    same_definition: bool, same_cause: bool, ops_a: frozenset[str], ops_b: frozenset[str]
) -> None:
    for a, b in PAIRS:
        found = pair_class(
            a, b, same_definition=same_definition, same_cause=same_cause, ops_a=ops_a, ops_b=ops_b
        )  # fmt: skip
        assert isinstance(found, PairClass)
        assert found not in (PairClass.ADDED, PairClass.REMOVED)


@pytest.mark.parametrize("outcome", [each for each in Outcome if each not in (Outcome.NOT_RUN, Outcome.INFRA)])
def test_an_outcome_beside_itself_is_the_same(outcome: Outcome) -> None:
    assert pair_class(outcome, outcome) is PairClass.SAME


def test_precedence_is_not_comparable_then_infra_then_environment_then_eligibility() -> None:
    assert pair_class(Outcome.INFRA, Outcome.PASS, same_definition=False) is PairClass.TEST_CHANGED
    assert pair_class(Outcome.NOT_RUN, Outcome.INFRA) is PairClass.NOT_RUN_HERE
    assert pair_class(Outcome.INFRA, Outcome.SKIP_ENVIRONMENT) is PairClass.INFRA_EITHER
    assert pair_class(Outcome.SKIP_ENVIRONMENT, Outcome.SKIP_ELIGIBILITY) is PairClass.ENVIRONMENT_CHANGED
    assert pair_class(Outcome.INVALID, Outcome.SKIP_ENVIRONMENT) is PairClass.ENVIRONMENT_CHANGED
    assert pair_class(Outcome.SKIP_ELIGIBILITY, Outcome.FAIL) is PairClass.ELIGIBILITY_CHANGED


def test_an_expectation_never_hides_a_change() -> None:
    assert pair_class(Outcome.PASS, Outcome.XFAIL) is PairClass.REGRESSED
    assert pair_class(Outcome.XFAIL, Outcome.XPASS) is PairClass.FIXED
    assert pair_class(Outcome.FAIL, Outcome.XFAIL) is PairClass.SAME
    assert pair_class(Outcome.SKIP_UNCLASSIFIED, Outcome.SKIP_COVERAGE) is PairClass.SAME


def test_two_fallbacks_are_compared_by_their_ops() -> None:
    def between(a: frozenset[str], b: frozenset[str]) -> PairClass:
        return pair_class(Outcome.FALLBACK, Outcome.FALLBACK, ops_a=a, ops_b=b)

    assert between(ONE, ONE) is PairClass.SAME
    assert between(ONE, ONE | OTHER) is PairClass.FELL_BACK
    assert between(ONE | OTHER, OTHER) is PairClass.CAME_HOME
    assert between(ONE, OTHER) is PairClass.FALLBACK_CHANGED


def test_two_failures_are_compared_by_badness_then_by_cause() -> None:
    failures = [each for each in Outcome if SIDE.get(each) is Side.FAILURE and each is not Outcome.XFAIL]
    for a, b in itertools.product(failures, repeat=2):
        found = pair_class(a, b, same_cause=False)
        if BADNESS[a] == BADNESS[b]:
            assert found is PairClass.CHANGED_FAILURE
        else:
            assert found is (PairClass.WORSE if BADNESS[b] > BADNESS[a] else PairClass.BETTER)


def test_a_test_missing_from_a_plan_is_new_or_gone_only_inside_the_selection() -> None:
    def missing(*, in_a: bool, in_b: bool, selected: bool) -> PairClass | None:
        return presence_class(in_a=in_a, in_b=in_b, selected_a=selected, selected_b=selected)

    assert missing(in_a=True, in_b=False, selected=True) is PairClass.REMOVED
    assert missing(in_a=False, in_b=True, selected=True) is PairClass.ADDED
    assert missing(in_a=True, in_b=False, selected=False) is PairClass.NOT_RUN_HERE
    assert missing(in_a=False, in_b=True, selected=False) is PairClass.NOT_RUN_HERE
    assert missing(in_a=True, in_b=True, selected=True) is None


def test_what_blocks_can_be_compared() -> None:
    assert not BLOCKING & NOT_COMPARABLE
