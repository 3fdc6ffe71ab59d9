"""Models held back by ops, counted."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.outcomes import Outcome
from sweeps.calls.blockers import Count, SetRow, Way, steps, tally
from sweeps.calls.evidence import How, Standing

SORT, HISTC, TOPK = "aten::sort", "aten::histc", "aten::topk"


def standing(name: str, *ops: str, outcome: Outcome = Outcome.FALLBACK, closed: bool = True) -> Standing:
    """A signature that some ops hold back."""
    return Standing(
        signature=name, outcome=outcome, ops={op: frozenset({How.FALLBACK}) for op in ops}, closed=closed and bool(ops)
    )


def share(models: int, downloads: int) -> Count:
    return Count(models=models, signatures=1, downloads=downloads)


SHARES = {
    "a": share(5, 100),
    "b": share(3, 1000),
    "c": share(2, 10),
    "d": share(1, 7),
    "e": share(4, 4),
    "f": share(9, 1),
}


@pytest.fixture
def way() -> Way:
    """Two held back by a pair, one by one op, one by one op at least, one right, one wrong without a name."""
    standings = [
        standing("a", SORT, HISTC), standing("b", SORT, HISTC), standing("c", TOPK),
        standing("d", TOPK, outcome=Outcome.ERROR, closed=False), standing("e", outcome=Outcome.PASS),
        standing("f", outcome=Outcome.CRASH),
    ]  # fmt: skip
    return tally(Way(mode="eager", dtype="float32", catalogue=24), standings, SHARES)


def test_every_planned_model_is_in_one_row(way: Way) -> None:
    assert way.right == share(4, 4)
    assert (way.held.models, way.closed.models, way.unnamed.models, way.other.models) == (11, 10, 9, 0)
    assert way.planned == Count(models=24, signatures=6, downloads=1122)
    assert sum(way.outcomes.values()) == 24
    assert [each.signature for each in way.unnamed_standings] == ["f"]


def test_a_model_that_several_ops_hold_back_is_freed_by_none_alone(way: Way) -> None:
    rows = {each.op: each for each in way.ops}
    assert rows[SORT].together == Count(models=8, signatures=2, downloads=1100)
    assert rows[SORT].alone == Count()
    assert rows[TOPK].together == Count(models=3, signatures=2, downloads=17)
    assert (rows[TOPK].alone, rows[TOPK].open) == (share(2, 10), share(1, 7))
    assert [each.op for each in way.ops] == [HISTC, SORT, TOPK]


def test_steps_begin_with_what_frees_most_downloads_for_each_op_and_never_count_what_may_have_more_reasons(
    way: Way,
) -> None:
    assert [(each.ops, each.frees.models, each.freed.models) for each in way.steps] == [
        ((HISTC, SORT), 8, 8), ((TOPK,), 2, 10)
    ]  # fmt: skip


def test_where_nobody_counts_downloads_models_decide() -> None:
    rows = [SetRow(ops=("x",), held=share(1, 0)), SetRow(ops=("y",), held=share(2, 0))]
    assert [each.ops for each in steps(rows)] == [("y",), ("x",)]


def test_a_step_counts_sets_that_the_steps_before_have_made_ready() -> None:
    rows = [SetRow(ops=("x",), held=share(1, 9)), SetRow(ops=("x", "y"), held=share(1, 3))]
    assert [(each.ops, each.freed.downloads) for each in steps(rows)] == [(("x",), 9), (("y",), 12)]


_SETS = st.dictionaries(st.frozensets(st.sampled_from("abcdef"), min_size=1), st.integers(0, 50), max_size=12)


@given(_SETS)
def test_steps_free_every_model_once_and_name_every_op_once(sets: dict[frozenset[str], int]) -> None:
    rows = [SetRow(ops=tuple(sorted(ops)), held=share(1, downloads)) for ops, downloads in sets.items()]
    found = steps(rows)
    named = list(itertools.chain.from_iterable(each.ops for each in found))
    assert sorted(named) == sorted(set().union(*sets))
    assert sum(each.frees.models for each in found) == len(rows)
    done: set[str] = set()
    for each in found:
        done |= set(each.ops)
        assert each.freed.models == sum(done.issuperset(row.ops) for row in rows)
