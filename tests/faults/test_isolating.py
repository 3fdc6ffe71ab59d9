"""`run --isolate` runs suspects, or every test, alone once more and tells what depends on the order."""

import pytest

from conformance.outcomes import Outcome
from tests.faults.harness import Lab

KEY = "fake::f::c::"


def endings(lab: Lab, name: str) -> list[tuple[str, bool]]:
    return [(each.outcome.word, each.alone) for each in lab.results()[name].attempts]


def test_a_failure_that_does_not_come_alone_is_order_dependent_and_every_attempt_is_kept(lab: Lab) -> None:
    lab.plan("pass-0", "first-0", "fail-0", "segv-0", "skip-0")
    done = lab.run("-n", "1", "--isolate")
    assert done.code == 0, done.err
    assert endings(lab, "first-0") == [("fail", False), ("pass", True), ("pass", True)]
    assert endings(lab, "fail-0") == [("fail", False), ("fail", True)], "it fails alone too"
    assert endings(lab, "segv-0") == [("crash", False), ("crash", True)], "the confirming run was alone"
    assert endings(lab, "pass-0") == [("pass", False)], "no suspect"
    assert done.document["order_dependent"] == [f"{KEY}first-0"]
    assert lab.outcomes() == {
        "pass-0": "pass", "first-0": "fail flaky", "fail-0": "fail", "segv-0": "crash", "skip-0": "skip_coverage",
    }  # fmt: skip


@pytest.mark.slow
def test_all_finds_what_is_right_only_among_others_and_the_report_lists_both_endings(lab: Lab) -> None:
    lab.plan("pass-0", "later-0", "first-0")
    assert lab.run("-n", "1", "--isolate", "all", "--format", "table").out.count("among others") == 2
    done = lab.call("run", "--resume", lab.folders()[0].path.name, "--no-ingest", "--format", "table")
    assert "order-dependent, ending otherwise alone: 2 of 3 tests" in done.out
    assert f"  {KEY}later-0: pass among others, fail alone" in done.out
    assert f"  {KEY}first-0: fail among others, pass alone" in done.out
    assert endings(lab, "later-0") == [("pass", False), ("fail", True), ("fail", True)]
    assert endings(lab, "pass-0") == [("pass", False), ("pass", True)]
    assert lab.results()["later-0"].outcome is Outcome.FAIL, "the worst attempt stands"


def test_a_test_that_disagrees_with_itself_alone_is_flaky_and_not_order_dependent(lab: Lab) -> None:
    lab.plan("pass-0", "moody-0")
    done = lab.run("-n", "1", "--isolate")
    assert [ending for ending, _ in endings(lab, "moody-0")] == ["fail", "pass", "fail"]
    assert lab.outcomes()["moody-0"] == "fail flaky"
    assert done.document["order_dependent"] == []


@pytest.mark.slow
def test_a_finished_run_can_be_isolated_later(lab: Lab) -> None:
    lab.plan("pass-0", "first-0")
    assert lab.run("-n", "1").document["order_dependent"] == []
    assert endings(lab, "first-0") == [("fail", False)]
    done = lab.run("--resume", lab.folders()[0].path.name, "--isolate")
    assert done.code == 0, done.err
    assert done.document["order_dependent"] == [f"{KEY}first-0"]


@pytest.mark.slow
def test_tests_killed_for_their_time_are_suspects_too(lab: Lab) -> None:
    lab.plan("pass-0", "hang-0")
    assert lab.run("-n", "1", "--timeout", "0.5", "--isolate").code == 0
    assert endings(lab, "hang-0") == [("timeout", False), ("timeout", True)]
