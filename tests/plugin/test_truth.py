"""What unittest and pytest do around a test's body: the right outcome, and the right test blamed."""

import pytest

from conformance.outcomes import Outcome, Stage
from tests.plugin.sessions import FILES, Session, session

O = Outcome  # noqa: E741

SET_UP_AND_TEAR_DOWN = {
    "TestClassSetUpFails::test_a": (O.ERROR, "exception", Stage.SETUP),
    "TestClassSetUpFails::test_b": (O.ERROR, "exception", Stage.SETUP),
    "TestClassTearDownFails::test_a": (O.PASS, "", Stage.EXECUTE),
    "TestClassTearDownFails::test_b_fails_by_itself": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestClassCleanupFails::test_a": (O.PASS, "", Stage.EXECUTE),
    "TestSetUp::test_skips": (O.SKIP_ELIGIBILITY, "upstream:test-body", Stage.EXECUTE),
    "TestSetUp::test_fails": (O.ERROR, "exception", Stage.SETUP),
    "TestCleanups::test_cleanup_fails": (O.FAIL, "assertion", Stage.TEARDOWN),
    "TestCleanups::test_body_and_cleanup_fail": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestFailsAround::test_expected_but_set_up_fails": (O.FAIL, "assertion", Stage.SETUP),
    "TestFailsAround::test_expected_and_tear_down_fails": (O.FAIL, "assertion", Stage.TEARDOWN),
    "TestFailsAround::test_unexpected_and_tear_down_fails": (O.FAIL, "assertion", Stage.TEARDOWN),
    "TestFailsAround::test_expected_and_cleanup_fails": (O.FAIL, "assertion", Stage.TEARDOWN),
    "TestFailsAround::test_body_and_tear_down_fail": (O.ERROR, "exception", Stage.EXECUTE),
    "TestWide::test_a": (O.UNPROVEN, "nothing-executed", Stage.EXECUTE),
    "TestWide::test_b_fails_by_itself": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestMarks::test_broken_marker": (O.ERROR, "pytest", Stage.SETUP),
    "TestMarks::test_coroutine": (O.ERROR, "pytest", Stage.EXECUTE),
    "TestMarks::test_gives_up": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestMarks::test_right_with_a_broken_fixture": (O.ERROR, "exception", Stage.TEARDOWN),
    "TestMarks::test_wrong_with_a_broken_fixture": (O.FAIL, "assertion", Stage.EXECUTE),
}
FILES_AS_A_WHOLE = {
    "module_set_up_fails::TestNone::test_a": (O.ERROR, "exception", Stage.SETUP),
    "module_set_up_fails::TestNone::test_b": (O.ERROR, "exception", Stage.SETUP),
    "module_set_up_skips::TestNone::test_a": (O.SKIP_ELIGIBILITY, "upstream:test-body", Stage.SETUP),
    "module_tear_down_fails::TestKept::test_right": (O.UNPROVEN, "nothing-executed", Stage.EXECUTE),
    "module_tear_down_fails::TestKept::test_wrong": (O.FAIL, "assertion", Stage.EXECUTE),
    "module_cannot_be_imported::::<module>": (O.ERROR, "collection", Stage.SETUP),
    "module_skips_by_pytest::::<module>": (O.SKIP_ELIGIBILITY, "upstream:other-device", Stage.SETUP),
    "module_skips_itself::::<module>": (O.SKIP_ENVIRONMENT, "upstream:library", Stage.SETUP),
}
SUBTESTS = {
    "TestManySubtests::test_three_of_twenty": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestManySubtests::test_named_by_a_message": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestManySubtests::test_a_subtest_and_the_rest_fail": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestManySubtests::test_all_are_skipped": (O.UNPROVEN, "subtest-skipped", Stage.EXECUTE),
    "TestManySubtests::test_one_is_skipped_and_one_fails": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestManySubtests::test_fails_in_a_subtest_as_expected": (O.XFAIL, "upstream:expected-failure", Stage.EXECUTE),
    "TestMarks::test_subtests": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestMarks::test_skips_after_a_failed_subtest": (O.ERROR, "exception", Stage.EXECUTE),
}
ENDINGS = {
    "TestSkipsLate::test_after_a_right_answer": (O.SKIP_ELIGIBILITY, "upstream:test-body", Stage.EXECUTE),
    "TestSkipsLate::test_in_tear_down": (O.SKIP_ELIGIBILITY, "upstream:test-body", Stage.EXECUTE),
    "TestBaseExceptions::test_of_its_own": (O.ERROR, "exception", Stage.EXECUTE),
    "TestBaseExceptions::test_system_exit_without_a_number": (O.ERROR, "exception", Stage.EXECUTE),
    "TestBaseExceptions::test_generator_exit": (O.ERROR, "exception", Stage.EXECUTE),
    "TestNeverStarted::test_is_a_generator": (O.UNPROVEN, "nothing-executed", Stage.EXECUTE),
    "TestNeverStarted::test_is_a_coroutine": (O.UNPROVEN, "nothing-executed", Stage.EXECUTE),
    "TestOfAsync::test_right": (O.UNPROVEN, "nothing-executed", Stage.EXECUTE),
    "TestOfAsync::test_wrong": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestByRunTest::runTest": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestOneDtype::test_neg_neg_float32": (O.PASS, "", Stage.EXECUTE),
    "TestOneDtype::test_neg_neg_int64": (O.XFAIL, "upstream:opinfo-expected-failure", Stage.EXECUTE),
    "TestOneDtype::test_neg_neg_int32": (O.SKIP_ELIGIBILITY, "upstream:opinfo", Stage.SETUP),
    "TestMarks::test_xfail_of_the_right_kind": (O.XFAIL, "upstream:xfail-marker", Stage.EXECUTE),
    "TestMarks::test_xfail_of_another_kind": (O.ERROR, "exception", Stage.EXECUTE),
    "TestMarks::test_strict_xfail": (O.XFAIL, "upstream:xfail-marker", Stage.EXECUTE),
    "TestMarks::test_strict_xpass": (O.XPASS, "upstream:xfail-marker", Stage.EXECUTE),
    "TestMarks::test_xfail_that_does_not_apply": (O.ERROR, "exception", Stage.EXECUTE),
}
NEIGHBOURS = {
    "TestStreams::test_a_replaces_stdout": (O.PASS, "", Stage.EXECUTE),
    "TestStreams::test_b_prints_after_that": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestStreams::test_c_closes_the_descriptor": (O.PASS, "", Stage.EXECUTE),
    "TestStreams::test_d_prints_after_that": (O.PASS, "", Stage.EXECUTE),
    "TestThreads::test_a_thread_fails_in_time": (O.PASS, "", Stage.EXECUTE),
    "TestThreads::test_b_thread_fails_later": (O.PASS, "", Stage.EXECUTE),
    "TestThreads::test_c_is_not_to_blame": (O.PASS, "", Stage.EXECUTE),
    "TestForks::test_a_child_crashes": (O.PASS, "", Stage.EXECUTE),
    "TestForks::test_b_child_raises": (O.PASS, "", Stage.EXECUTE),
    "TestForks::test_c_child_exits_in_a_subtest": (O.PASS, "", Stage.EXECUTE),
    "TestForks::test_d_right": (O.PASS, "", Stage.EXECUTE),
}
NAMES = {
    "TestNames::test_odd_odd": (O.PASS, "", Stage.EXECUTE),
    "TestNames::test_odd_one point five": (O.PASS, "", Stage.EXECUTE),
    "TestNames::test_odd_value_x y": (O.PASS, "", Stage.EXECUTE),
    "TestMarks::test_odd_names[a b]": (O.UNPROVEN, "nothing-executed", Stage.EXECUTE),
    "TestMarks::test_odd_names[[x]::y]": (O.UNPROVEN, "nothing-executed", Stage.EXECUTE),
    "TestMarks::test_odd_names[\\xe9\\n]": (O.UNPROVEN, "nothing-executed", Stage.EXECUTE),
    "TestMarks::test_odd_names[]": (O.UNPROVEN, "nothing-executed", Stage.EXECUTE),
    f"TestMarks::test_odd_names[{'x' * 300}]": (O.UNPROVEN, "nothing-executed", Stage.EXECUTE),
    "TestMarks::test_ids_that_collide[same0]": (O.UNPROVEN, "nothing-executed", Stage.EXECUTE),
    "TestMarks::test_ids_that_collide[same1]": (O.FAIL, "assertion", Stage.EXECUTE),
    "TestMarks::test_ids_that_collide[same2]": (O.UNPROVEN, "nothing-executed", Stage.EXECUTE),
}
ALL = (SET_UP_AND_TEAR_DOWN, FILES_AS_A_WHOLE, SUBTESTS, ENDINGS, NEIGHBOURS, NAMES)


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Session:
    files = [
        *(str(FILES / name) for name in ("truth.py", "ways.py", "around.py")),
        *map(str, sorted(FILES.glob("module_*.py"))),
    ]
    return session(tmp_path_factory.mktemp("around"), "--continue-on-collection-errors", *files)


def ending(done: Session) -> dict[str, tuple[Outcome, str, Stage]]:
    results = {
        name.removeprefix("truth::").removeprefix("ways::").removeprefix("around::"): each
        for name, each in done.by_file().items()
    }
    return {name: (each.outcome, each.shown.rule, each.shown.stage) for name, each in results.items()}


@pytest.mark.parametrize("wanted", ALL, ids=["set up", "files", "subtests", "endings", "neighbours", "names"])
def test_every_test_ends_as_its_own_doing(around: Session, wanted: dict[str, tuple[Outcome, str, Stage]]) -> None:
    got = ending(around)
    assert {name: got[name] for name in wanted} == wanted


def test_what_fails_after_the_first_failure_is_told_beside_it(around: Session) -> None:
    shown = around.results()["TestFailsAround::test_body_and_tear_down_fail"].shown
    assert shown.message == "RuntimeError: the body breaks"
    assert "the test itself, in teardown: fail, AssertionError: tear-down finds a leftover\n" in shown.detail


def test_what_is_wider_than_a_test_and_cannot_be_torn_down_is_told_with_the_last_test_and_decides_nothing(
    around: Session,
) -> None:
    left = {name: each.shown.leaked for name, each in around.results().items()}
    assert (
        "tear_down of the class: RuntimeError: the service does not stop"
        in left["TestClassTearDownFails::test_b_fails_by_itself"]
    )
    assert left["TestWide::test_b_fails_by_itself"] == (
        "tear_down of the class: RuntimeError: the class does not come down",
    )
    told = [each for texts in left.values() for each in texts]
    assert "tear_down of the session: RuntimeError: the session does not come down" in told
    assert "tear_down of the module: RuntimeError: the file does not come down" in told


def test_nothing_else_was_planned(around: Session) -> None:
    assert ending(around).keys() == {name for each in ALL for name in each}


def test_failed_subtests_are_counted_and_named_and_each_is_told_with_its_own_cause(around: Session) -> None:
    shown = around.results()["TestManySubtests::test_three_of_twenty"].shown
    assert shown.message.splitlines() == [
        "3 of 20 subtests failed: (size=3), (size=7), (size=11)",
        "AssertionError: 3 unexpectedly found in (3, 11)",
    ]
    assert "subtest (size=7): error, ValueError: seven is another matter\n" in shown.detail
    assert "subtest (size=11): fail, AssertionError: 11 unexpectedly found in (3, 11)\n" in shown.detail
    assert shown.detail.count("Traceback (most recent call last)") == 3


def test_a_failure_outside_the_subtests_is_told_beside_theirs(around: Session) -> None:
    shown = around.results()["TestManySubtests::test_a_subtest_and_the_rest_fail"].shown
    assert shown.message.startswith("1 of 1 subtests failed: (part=1)\n")
    assert "the test itself, in execute: error, RuntimeError: after the parts\n" in shown.detail


def test_names_of_subtests_are_shown_without_what_a_terminal_would_obey(around: Session) -> None:
    shown = around.results()["TestManySubtests::test_named_by_a_message"].shown
    assert shown.message.startswith("1 of 2 subtests failed: [the second \\x1b[31m sample] (shape=(1, 2))\n")
    assert "[sample] (size=1), [sample] (size=3)" in around.results()["TestMarks::test_subtests"].shown.message


def test_what_is_printed_after_the_streams_were_replaced_is_still_kept(around: Session) -> None:
    assert "still heard" in around.results()["TestStreams::test_b_prints_after_that"].shown.detail
