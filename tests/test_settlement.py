"""What stands for a test: probing keeps the skip unless the result is right; a foreseen death is an xfail."""

import pytest

from conformance import classify, settlement
from conformance.outcomes import Attempt, Outcome, TestId
from conformance.plan import Decision, Expected, PlannedTest

ENTRY = Decision(outcome=Outcome.SKIP_COVERAGE, rule="coverage:x", reason="not yet")
ID = TestId(suite="s", file="f", cls="c", name="n")
PROBED = PlannedTest(id=ID, definition="1", probed=ENTRY)
NOT_RIGHT = set(Outcome) - settlement.RIGHT - {Outcome.NOT_RUN}


def expecting(**more: object) -> PlannedTest:
    return PlannedTest(id=ID, definition="1", expected=Expected(rule="expect:y", reason="known", **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("outcome", sorted(settlement.RIGHT))
def test_a_probed_test_that_is_right_has_its_own_outcome_and_rule_and_says_that_it_was_probed(outcome: Outcome) -> None:
    found = settlement.settled(PROBED, [Attempt(outcome=outcome, rule="nothing-executed", message="a note")])
    assert (found.outcome, found.shown.outcome, found.shown.rule) == (outcome, outcome, "nothing-executed")
    assert found.shown.message.startswith("a note\nprobed: the result is right, and coverage:x")
    assert settlement.stale(PROBED, found.outcome)


@pytest.mark.parametrize("outcome", sorted(NOT_RIGHT))
def test_a_probed_test_that_is_not_right_stays_the_skip_of_its_entry_whatever_befell_it(outcome: Outcome) -> None:
    made = Attempt(outcome=outcome, rule="r", message="it broke", seconds={"execute": 1.0}, cause="X: broke", code="C")
    found = settlement.settled(PROBED, [made])
    assert (found.outcome, found.flaky) == (Outcome.SKIP_COVERAGE, False)
    assert (found.shown.rule, found.shown.cause, found.shown.code) == ("coverage:x", "", "")
    assert found.shown.message == f"not yet\nprobed: {outcome.word}: it broke"
    assert found.shown.seconds == {"execute": 1.0}
    assert settlement.standing(PROBED, outcome) is Outcome.SKIP_COVERAGE
    assert not settlement.stale(PROBED, found.outcome)


def test_a_probed_test_whose_attempts_disagree_stays_a_skip_and_is_not_flaky() -> None:
    found = settlement.settled(PROBED, [Attempt(outcome=Outcome.CRASH), Attempt(outcome=Outcome.PASS)])
    assert (found.outcome, found.flaky) == (Outcome.SKIP_COVERAGE, False)


def test_a_probe_that_was_never_made_leaves_the_run_unsealed() -> None:
    assert settlement.settled(PROBED, []).outcome is Outcome.NOT_RUN
    assert settlement.standing(PROBED, Outcome.NOT_RUN) is Outcome.NOT_RUN


def test_a_death_is_an_expected_failure_only_where_it_is_named() -> None:
    crash = [Attempt(outcome=Outcome.CRASH, rule="died"), Attempt(outcome=Outcome.CRASH, rule="died-alone")]
    named = settlement.settled(expecting(outcome=Outcome.CRASH), crash)
    assert (named.outcome, named.shown.rule) == (Outcome.XFAIL, "expect:y")
    assert settlement.standing(expecting(outcome=Outcome.CRASH), Outcome.CRASH) is Outcome.XFAIL
    for other in (expecting(), expecting(outcome=Outcome.TIMEOUT), expecting(outcome=Outcome.FAIL)):
        assert settlement.settled(other, crash).outcome is Outcome.CRASH


FAILED = Attempt(
    outcome=Outcome.COMPILE_FAIL, cause="CompilationError: NCC_X in sim:compile", code="NCC_X", message="no"
)
KINDS: list[tuple[dict[str, object], str]] = [
    ({}, ""),
    ({"outcome": Outcome.COMPILE_FAIL, "code": "NCC_X", "exception": "CompilationError"}, ""),
    ({"outcome": Outcome.FAIL}, "that is fail"),
    ({"outcome": Outcome.CRASH}, "that is crash"),
    ({"code": "NCC_Y"}, "that has the compiler code NCC_Y"),
    ({"exception": "Compilation"}, "that is raised as Compilation"),
]


@pytest.mark.parametrize(("foreseen", "difference"), KINDS)
def test_a_failure_of_another_kind_than_foreseen_is_no_expected_failure(
    foreseen: dict[str, object], difference: str
) -> None:
    found = classify.apply_expected(FAILED, expecting(**foreseen).expected)
    assert found.outcome is (Outcome.COMPILE_FAIL if difference else Outcome.XFAIL)
    assert found.message == ("no" + (f"\nnot the failure that expect:y foresees: {difference}" if difference else ""))
    right = classify.apply_expected(Attempt(outcome=Outcome.FALLBACK), expecting(**foreseen).expected)
    assert (right.outcome, right.rule) == (Outcome.XPASS, "expect:y")
