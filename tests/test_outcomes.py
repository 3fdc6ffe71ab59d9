"""The vocabulary keeps its codes, and attempts settle as it says."""

import itertools

import pytest

from conformance.outcomes import (
    BADNESS,
    FLAKY,
    GROUPS,
    Group,
    Outcome,
    TestId,
    order_dependent,
    outcome_of,
    settle,
    status_byte,
)

CODES = {
    "pass": 1,
    "fallback": 2,
    "unproven": 3,
    "xfail": 4,
    "xpass": 5,
    "skip_eligibility": 6,
    "skip_environment": 7,
    "skip_coverage": 8,
    "skip_unclassified": 9,
    "compile_fail": 10,
    "compile_timeout": 11,
    "fail": 12,
    "error": 13,
    "timeout": 14,
    "crash": 15,
    "infra": 16,
    "invalid": 17,
    "not_run": 19,
}


def test_codes_are_for_ever() -> None:
    assert {each.word: int(each) for each in Outcome} == CODES


def test_a_status_byte_gives_back_its_outcome_and_its_flaky_bit() -> None:
    for outcome, flaky in itertools.product(Outcome, (False, True)):
        byte = status_byte(outcome, flaky)
        assert 0 < byte < 256
        assert outcome_of(byte) == (outcome, flaky)
    assert outcome_of(0) == (None, False)
    assert status_byte(Outcome.CRASH, True) == 15 + FLAKY


def test_every_outcome_has_its_own_rank_of_badness() -> None:
    assert set(BADNESS) == set(Outcome)
    failures = ["compile_fail", "compile_timeout", "error", "timeout", "crash", "fail"]
    assert sorted(failures, key=lambda word: BADNESS[Outcome.from_word(word)]) == failures
    assert max(BADNESS, key=BADNESS.__getitem__) is Outcome.FAIL


def test_the_worst_attempt_stands_and_disagreement_is_flaky() -> None:
    assert settle([Outcome.PASS]) == (Outcome.PASS, False)
    assert settle([Outcome.CRASH, Outcome.PASS]) == (Outcome.CRASH, True)
    assert settle([Outcome.CRASH, Outcome.CRASH]) == (Outcome.CRASH, False)
    assert settle([Outcome.PASS, Outcome.FALLBACK, Outcome.PASS]) == (Outcome.FALLBACK, True)


def test_attempts_lost_to_the_machine_count_only_when_there_is_no_other() -> None:
    assert settle([Outcome.INFRA, Outcome.PASS]) == (Outcome.PASS, False)
    assert settle([Outcome.INFRA, Outcome.INFRA]) == (Outcome.INFRA, False)
    assert settle([Outcome.NOT_RUN, Outcome.INFRA]) == (Outcome.INFRA, False)
    assert settle([]) == (Outcome.NOT_RUN, False)


def test_an_unknown_word_is_refused_with_the_choices() -> None:
    with pytest.raises(ValueError, match=r"unknown outcome 'passed': choose one of pass, fallback"):
        Outcome.from_word("passed")


def test_the_five_words_of_people_cover_what_the_vocabulary_says() -> None:
    assert set(GROUPS.values()) == set(Group)
    assert GROUPS[Outcome.COMPILE_TIMEOUT] is Group.COMPILE_FAIL
    assert Outcome.SKIP_ENVIRONMENT not in GROUPS


def test_an_identity_is_one_string() -> None:
    identity = TestId(suite="ops", file="forward", cls="linalg.norm", name="float32", op="linalg.norm")
    assert identity.key == "ops::forward::linalg.norm::float32"


P, F, INFRA = Outcome.PASS, Outcome.FAIL, Outcome.INFRA


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        ([(F, False), (P, True), (P, True)], True),
        ([(P, False), (F, True), (F, True)], True),
        ([(F, False), (F, False), (P, True), (INFRA, True), (P, True)], True),
        ([(F, False), (P, True)], False),
        ([(F, False), (P, True), (F, True)], False),
        ([(F, False), (P, False), (P, True), (P, True)], False),
        ([(F, False), (F, True), (F, True)], False),
        ([(F, True), (P, True)], False),
        ([(INFRA, False), (P, True), (P, True)], False),
        ([], False),
    ],
)
def test_order_dependent_is_what_ends_otherwise_alone_each_time(made: list[tuple[Outcome, bool]], wanted: bool) -> None:
    assert order_dependent(made) is wanted
