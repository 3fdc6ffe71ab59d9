"""The machine's faults are told from the tests'."""

import pytest

from conformance.outcomes import Outcome
from tests.faults.harness import Lab, many, only


def test_a_test_that_the_machine_spoils_once_is_run_again(lab: Lab) -> None:
    lab.plan("pass-0", "infraonce-0", "pass-1")
    assert lab.run("-n", "1").code == 0
    result = lab.results()["infraonce-0"]
    assert (result.outcome, result.flaky) == (Outcome.PASS, False)
    assert [each.outcome for each in result.attempts] == [Outcome.INFRA, Outcome.PASS]


def test_a_test_that_the_machine_always_spoils_ends_as_infra_after_three_attempts(lab: Lab) -> None:
    lab.plan("pass-0", "infra-0", "infra-1", "pass-1")
    done = lab.run("-n", "1")
    results = lab.results()
    assert done.code == 0, done.err
    assert [each.outcome for each in results["infra-0"].attempts] == [Outcome.INFRA] * 3
    assert only(lab.outcomes(), ["infra-0", "infra-1"]) == {"infra"}
    assert only(lab.outcomes(), ["pass-0", "pass-1"]) == {"pass"}


def test_a_crash_that_leaves_the_device_sick_is_infra_and_a_reset_core_goes_on(lab: Lab) -> None:
    lab.plan(*many("pass", 5), "poison-0", "pass-last")
    done = lab.run("-n", "1")
    results = lab.results()
    assert done.code == 0, done.err
    assert [each.rule for each in results["poison-0"].attempts] == ["sick-device"] * 3
    assert "NRT_STATUS=101" in results["poison-0"].shown.message
    assert results.pop("poison-0").outcome is Outcome.INFRA
    assert {each.outcome for each in results.values()} == {Outcome.PASS}


@pytest.mark.slow
def test_a_device_that_stays_sick_ends_the_run_incomplete_and_resume_goes_on_when_it_is_mended(lab: Lab) -> None:
    lab.plan("pass-0", "poison-0", "pass-1")
    (lab.state / "broken").touch()
    done = lab.run("-n", "1")
    assert done.code == 3, done.err
    assert "no usable core is left" in done.last
    assert "NRT_STATUS=101" in done.last
    assert lab.outcomes() == {"pass-0": "pass", "poison-0": "infra", "pass-1": "not_run"}

    (lab.state / "broken").unlink()
    again = lab.run("--resume", lab.folders()[0].path.name, "-n", "1")
    assert again.code == 0, again.err
    assert lab.outcomes() == {"pass-0": "pass", "poison-0": "infra", "pass-1": "pass"}


@pytest.mark.slow
def test_a_busy_core_is_given_up_and_the_other_does_the_work(lab: Lab) -> None:
    lab.plan(*many("sleep", 60))
    (lab.state / "busy-1").touch()
    done = lab.run("-n", "2")
    assert done.code == 0, done.err
    assert set(lab.outcomes().values()) == {"pass"}


@pytest.mark.slow
def test_a_device_that_is_busy_everywhere_ends_the_run_before_it_starts(lab: Lab) -> None:
    lab.plan("pass-0")
    (lab.state / "busy-0").touch()
    done = lab.run("-n", "1")
    assert done.code == 3
    assert "cores busy" in done.last
    assert not lab.folders()
