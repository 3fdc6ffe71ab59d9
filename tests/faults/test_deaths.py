"""Tests that die, hang or vanish cost themselves alone."""

import os
import time
from pathlib import Path

import pytest

from conformance.outcomes import Outcome, Stage
from tests.faults.harness import Lab, many, only


def test_a_crash_costs_one_test_is_named_with_its_signal_and_confirmed_alone(lab: Lab) -> None:
    lab.plan(*many("pass", 20), "segv-0", *many("sleep", 10))
    done = lab.run("-n", "2")
    results = lab.results()
    crash = results.pop("segv-0")
    assert done.code == 0, done.err
    assert crash.outcome is Outcome.CRASH
    assert not crash.flaky
    assert [each.rule for each in crash.attempts] == ["died", "died-alone"]
    assert "was killed by SIGSEGV" in crash.shown.message
    assert crash.shown.stage is Stage.EXECUTE
    assert "fake_suite.py" in crash.shown.detail, "the stack that faulthandler wrote is kept"
    assert {each.outcome for each in results.values()} == {Outcome.PASS}


def test_adjacent_crashers_and_other_ways_to_die_converge_in_one_run(lab: Lab) -> None:
    deadly = ["segv-0", "segv-1", "segv-2", "abort-0", "kill-0", "exit0-0", "native-0"]
    lab.plan(*many("pass", 5), *deadly, "pass-last")
    done = lab.run("-n", "1")
    outcomes = lab.outcomes()
    assert done.code == 0, done.err
    assert only(outcomes, deadly) == {"crash"}
    assert only(outcomes, outcomes.keys() - set(deadly)) == {"pass"}
    assert done.document["outcomes"] == {"pass": 6, "crash": 7}


def test_a_test_that_passes_when_it_is_alone_is_a_flaky_crash(lab: Lab) -> None:
    lab.plan("pass-0", "flakycrash-0", "pass-1")
    assert lab.run("-n", "1").code == 0
    result = lab.results()["flakycrash-0"]
    assert (result.outcome, result.flaky) == (Outcome.CRASH, True)
    assert [each.outcome for each in result.attempts] == [Outcome.CRASH, Outcome.PASS]


def test_hangs_end_at_their_limits_with_the_stack_where_they_hung(lab: Lab) -> None:
    lab.plan("hang-0", "compilehang-0", "stubborn-0", *many("pass", 5))
    began = time.monotonic()
    done = lab.run("-n", "2", "--timeout", "1", "--compile-timeout", "1.5")
    results = lab.results()
    assert done.code == 0, done.err
    assert time.monotonic() - began < 20
    assert results["hang-0"].outcome is Outcome.TIMEOUT
    assert "fake_suite.py" in results["hang-0"].shown.detail
    assert results["hang-0"].shown.seconds["execute"] >= 1
    assert results["stubborn-0"].outcome is Outcome.TIMEOUT
    assert results["compilehang-0"].outcome is Outcome.COMPILE_TIMEOUT
    assert results["compilehang-0"].shown.stage is Stage.COMPILE
    assert only(lab.outcomes(), many("pass", 5)) == {"pass"}


def test_tests_that_their_suite_never_starts_end_as_errors_and_not_in_a_loop(lab: Lab) -> None:
    lab.plan("pass-0", "never-0", "diebefore-0", "pass-1")
    done = lab.run("-n", "1")
    results = lab.results()
    assert done.code == 0, done.err
    assert results["never-0"].outcome is Outcome.ERROR
    assert "without starting this test" in results["never-0"].shown.message
    assert results["diebefore-0"].outcome is Outcome.CRASH
    assert only(lab.outcomes(), ["pass-0", "pass-1"]) == {"pass"}


def test_an_exception_that_leaves_the_suite_is_an_error_of_the_test_it_was_in(lab: Lab) -> None:
    lab.plan("pass-0", "leave-0", "pass-1")
    assert lab.run("-n", "1").code == 0
    result = lab.results()["leave-0"]
    assert (result.outcome, result.shown.rule) == (Outcome.ERROR, "left-suite")
    assert "LookupError: a bug in the suite" in result.shown.message
    assert only(lab.outcomes(), ["pass-0", "pass-1"]) == {"pass"}


def test_what_a_dead_test_left_running_is_killed_with_it(lab: Lab) -> None:
    lab.plan("orphan-0", "pass-0")
    assert lab.run("-n", "1").code == 0
    pid = int((lab.state / "orphan").read_text())
    assert not alive(pid)


def test_a_fork_server_that_dies_once_costs_nothing_and_a_test_that_kills_it_again_is_a_crash(lab: Lab) -> None:
    lab.plan(*many("pass", 3), "killserveronce-0", "killserver-0", "pass-last")
    done = lab.run("-n", "2")
    outcomes = lab.outcomes()
    assert done.code == 0, done.err
    assert outcomes.pop("killserver-0") == "crash"
    assert set(outcomes.values()) == {"pass"}


@pytest.mark.slow
def test_a_test_that_prints_without_end_does_not_fill_the_disk(lab: Lab) -> None:
    lab.plan("loud-0")
    assert lab.run("-n", "1").code == 0
    assert sum(path.stat().st_size for path in lab.folders()[0].logs.iterdir()) < 24 << 20


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z" and pid != os.getpid()
