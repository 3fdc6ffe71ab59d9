"""Each overload has exactly one status, and more evidence of the device's work never makes it a worse one."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.inventory import Evidence, Status, status_of
from conformance.inventory.statuses import RIGHT, SKIPPED, WRONG
from conformance.outcomes import Outcome

COUNTS = st.dictionaries(st.sampled_from(Outcome), st.integers(1, 9), max_size=3)
EVIDENCE = st.builds(Evidence, ran=COUNTS, fell=COUNTS, both=COUNTS, perhaps=COUNTS, named=COUNTS)
PARTS = ("ran", "fell", "both", "perhaps", "named")


def one(part: str, outcome: Outcome) -> Evidence:
    return Evidence(**{part: {outcome: 1}})


def expected(part: str, outcome: Outcome) -> Status:
    """What a single test says."""
    group = "right" if outcome in RIGHT else "wrong" if outcome in WRONG else "skip" if outcome in SKIPPED else "void"
    if group == "void":
        return Status.NEVER_TESTED
    if group == "skip":
        return Status.SKIPPED
    if part in ("perhaps", "named"):
        return {"perhaps": Status.REACHED_OVERLOAD_UNKNOWN, "named": Status.NAMED_ONLY}[part]
    if group == "wrong":
        return Status.ONLY_FAILING
    return Status.FELL_BACK if part == "fell" else Status.TESTED


@pytest.mark.parametrize(("part", "outcome"), list(product(PARTS, Outcome)))
def test_what_one_test_says_of_an_overload(part: str, outcome: Outcome) -> None:
    assert status_of(one(part, outcome)) is expected(part, outcome)
    assert status_of(one(part, outcome), told=False) is Status.UNKNOWN


def test_without_any_test_an_overload_was_never_tested() -> None:
    assert status_of(Evidence()) is Status.NEVER_TESTED


@given(EVIDENCE, st.sampled_from(PARTS), st.sampled_from([each for each in Outcome if each is not Outcome.NOT_RUN]))
def test_one_more_test_never_makes_the_word_a_weaker_one(evidence: Evidence, part: str, outcome: Outcome) -> None:
    order = list(Status)
    before = status_of(evidence)
    counts = getattr(evidence, part)
    more = Evidence(**{each: getattr(evidence, each) for each in PARTS} | {part: {**counts, outcome: 1}})
    assert order.index(status_of(more)) <= order.index(before)


@given(EVIDENCE)
def test_the_word_is_the_strongest_that_a_single_test_gives(evidence: Evidence) -> None:
    """A second definition, test by test; a test that did not run keeps its op from being called skipped."""
    found = [expected(part, outcome) for part in PARTS for outcome in getattr(evidence, part)]
    strongest = min(found, key=list(Status).index, default=Status.NEVER_TESTED)
    waiting = any(Outcome.NOT_RUN in getattr(evidence, part) for part in PARTS)
    if strongest is Status.SKIPPED and waiting:
        strongest = Status.NEVER_TESTED
    assert status_of(evidence) is strongest


def test_every_outcome_is_of_one_group_or_says_nothing() -> None:
    void = set(Outcome) - RIGHT - WRONG - SKIPPED
    assert void == {Outcome.INFRA, Outcome.INVALID, Outcome.NOT_RUN}
    assert not RIGHT & WRONG
    assert not (RIGHT | WRONG) & SKIPPED


def test_a_test_on_both_sides_counts_once_as_reached_and_once_as_fallback() -> None:
    evidence = Evidence(ran={Outcome.PASS: 2}, fell={Outcome.FALLBACK: 3}, both={Outcome.FALLBACK: 4})
    assert evidence.reached == {Outcome.PASS: 2, Outcome.FALLBACK: 7}
    assert evidence.by_fallback == {Outcome.FALLBACK: 7}
