"""Runs of one release combined by the worst, releases by the best: the rules, test by test, against the vocabulary."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from conformance.diff import Side
from conformance.outcomes import BADNESS, FLAKY, Outcome, outcome_of, settle, status_byte
from conformance.releases import NOBODY, best, worst

STATUS = st.one_of(
    st.just(0),
    st.builds(status_byte, st.sampled_from([each for each in Outcome if each.word != "not_run"]), st.booleans()),
)
SIDES = st.integers(1, 4).flatmap(
    lambda runs: st.lists(st.tuples(*[st.tuples(STATUS, st.integers(1, 2))] * runs), min_size=1, max_size=20)
)
"""A test a row, a run a column, the newest first: status byte and definition."""


def sides(rows: list[tuple[tuple[int, int], ...]]) -> list[Side]:
    return [
        Side(
            status=np.array([row[run][0] for row in rows], np.uint8),
            definition=np.array([row[run][1] if row[run][0] else 0 for row in rows], np.uint64),
            cause=np.array([(run + 1) * (row[run][0] != 0) for row in rows], np.int32),
            fallback=np.zeros(len(rows), np.int32), rule=np.zeros(len(rows), np.int32),
        )
        for run in range(len(rows[0]))
    ]  # fmt: skip


@given(SIDES)
def test_the_worst_attempt_of_the_newest_definition_stands_and_disagreement_is_flaky(
    rows: list[tuple[tuple[int, int], ...]],
) -> None:
    found = worst(sides(rows))
    for place, row in enumerate(rows):
        made = [(each, definition) for each, definition in row if each]
        if not made:
            assert (found.side.status[place], found.picked[place]) == (0, NOBODY)
            continue
        counting = [each for each, definition in made if definition == made[0][1]]
        outcomes = [outcome for outcome, _ in map(outcome_of, counting) if outcome is not None]
        expected, disagree = settle(outcomes)
        own = any(flaky for outcome, flaky in map(outcome_of, counting) if outcome is not Outcome.INFRA)
        assert outcome_of(int(found.side.status[place])) == (expected, disagree or own)
        assert found.side.definition[place] == made[0][1]
        assert found.side.cause[place] == found.picked[place] + 1
        assert row[found.picked[place]][0] & ~FLAKY == expected


@given(SIDES)
def test_one_run_stands_for_itself(rows: list[tuple[tuple[int, int], ...]]) -> None:
    (alone,) = sides([(row[0],) for row in rows])
    quiet = np.where(alone.status & ~np.uint8(FLAKY) == Outcome.INFRA, np.uint8(Outcome.INFRA), alone.status)
    assert worst([alone]).side.status.tolist() == quiet.tolist()
    assert best([alone], alone.definition).side.status.tolist() == alone.status.tolist()


@given(SIDES)
def test_the_best_of_releases_is_never_worse_than_any_of_them_with_the_same_definition(
    rows: list[tuple[tuple[int, int], ...]],
) -> None:
    made = sides(rows)
    found = best(made, np.ones(len(rows), np.uint64))
    for place, row in enumerate(rows):
        picked = found.picked[place]
        if not any(status for status, _ in row):
            assert picked == NOBODY
            continue
        same = [outcome_of(status)[0] for status, definition in row if status and definition == 1]
        standing = outcome_of(int(found.side.status[place]))[0]
        if not same:
            assert picked == next(run for run, (status, _) in enumerate(row) if status)
        elif Outcome.PASS in same or Outcome.XPASS in same:
            assert standing in (Outcome.PASS, Outcome.XPASS)
        else:
            assert standing in same


def test_a_failure_that_every_release_has_is_compared_in_its_mildest_form() -> None:
    made = sides([((status_byte(Outcome.CRASH, False), 1), (status_byte(Outcome.COMPILE_FAIL, False), 1))])
    found = best(made, np.ones(1, np.uint64))
    assert outcome_of(int(found.side.status[0]))[0] is Outcome.COMPILE_FAIL
    assert found.picked.tolist() == [1]
    assert BADNESS[Outcome.COMPILE_FAIL] < BADNESS[Outcome.CRASH]
