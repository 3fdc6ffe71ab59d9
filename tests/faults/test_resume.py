"""Whatever is killed and whenever, a resumed run has one outcome for every planned test."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conformance.journal import Begin, read
from conformance.record import read_attempts
from tests.faults.harness import Lab, many, only

MIXED = [*many("sleep", 60), "segv-0", "segv-1", "fail-0", "flakycrash-0", *many("pass", 60), "exit0-0"]


def children_of(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def wait_for_work(lab: Lab, process: "subprocess.Popen[str]") -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        if lab.folders() and any(
            isinstance(record, Begin) for path in lab.folders()[0].journals.glob("*.jsonl") for record in read(path)
        ):
            return
        time.sleep(0.02)


def start(lab: Lab) -> "subprocess.Popen[str]":
    process = lab.start("run", "--target", "fake", "--suite", "fake", "-n", "2", "--no-ingest", "--format", "json")
    wait_for_work(lab, process)
    return process


def finish(lab: Lab) -> None:
    done = lab.run("--resume", lab.folders()[0].path.name, "-n", "2")
    assert done.code == 0, done.err
    outcomes = lab.outcomes()
    assert sum(done.document["outcomes"].values()) == len(MIXED) == done.document["planned"]
    assert only(outcomes, ["segv-0", "segv-1", "exit0-0"]) == {"crash"}
    assert outcomes["fail-0"] == "fail"
    assert only(outcomes, many("pass", 60)) <= {"pass", "crash flaky"}
    assert "not_run" not in outcomes.values()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_a_supervisor_killed_at_any_moment_leaves_no_orphans_and_a_run_that_resumes(lab: Lab, seed: int) -> None:
    lab.plan(*MIXED)
    process = start(lab)
    family = [each for child in children_of(process.pid) for each in (child, *children_of(child))]
    time.sleep(random.Random(seed).uniform(0, 1.2))
    process.kill()
    process.communicate()
    time.sleep(0.5)
    assert not [pid for pid in family if Path(f"/proc/{pid}").exists() and not zombie(pid)]
    finish(lab)
    assert all(not each.flaky or name == "flakycrash-0" for name, each in lab.results().items())


def kill(pid: int) -> bool:
    """Kill a process; False when it had ended by itself since it was seen."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_children_killed_at_random_cost_at_most_the_test_they_were_in(lab: Lab, seed: int) -> None:
    lab.plan(*MIXED)
    process = start(lab)
    chance = random.Random(seed)
    killed = 0
    while process.poll() is None and killed < 5:
        victims = [each for server in children_of(process.pid) for each in children_of(server)]
        if victims and kill(chance.choice(victims)):
            killed += 1
        time.sleep(chance.uniform(0.05, 0.4))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    outcomes = lab.outcomes()
    assert len(outcomes) == len(MIXED)
    assert sum(word == "crash flaky" for word in outcomes.values()) <= killed + 1
    assert only(outcomes, ["segv-0", "segv-1", "exit0-0"]) == {"crash"}
    assert "not_run" not in outcomes.values()


@pytest.mark.slow
def test_a_fork_server_killed_in_the_middle_is_replaced_and_nothing_is_charged(lab: Lab) -> None:
    lab.plan(*many("sleep", 60))
    process = start(lab)
    for _ in range(3):
        for server in children_of(process.pid):
            kill(server)
        time.sleep(0.3)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert set(lab.outcomes().values()) == {"pass"}


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupted_run_says_how_to_go_on_and_is_finished_by_resume(lab: Lab, number: signal.Signals) -> None:
    lab.plan(*MIXED)
    process = start(lab)
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "--resume" in err
    assert err.strip().splitlines()[-1].endswith("(exit 130: interrupted)")
    before = {key: set(ended) for key, ended in read_attempts(lab.folders()[0]).ended.items()}
    finish(lab)
    after = read_attempts(lab.folders()[0]).ended
    assert all(numbers <= set(after[key]) for key, numbers in before.items()), "what had ended was not run again"


def test_a_second_interrupt_does_not_wait_and_says_how_to_go_on_too(lab: Lab) -> None:
    lab.plan("pass-0", "stubborn-0", "stubborn-1")
    process = lab.start("run", "--target", "fake", "--suite", "fake", "-n", "2", "--format", "json")
    wait_for_work(lab, process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    run = lab.folders()[0].path.name
    assert process.returncode == 130, err
    assert f"go on with: conformance run --resume {run}" in err
    assert f"conformance ingest {lab.folders()[0].path}" in err, "what was not stored can be"
    assert '"planned":3' in out
    assert time.monotonic() - asked < 2.5, "the three seconds for stubborn children were not waited for"


def test_an_interruption_while_planning_leaves_nothing(lab: Lab) -> None:
    lab.plan("slowplan-0")
    process = lab.start("run", "--target", "fake", "--suite", "fake")
    until = time.monotonic() + 20
    while not (lab.state / "planning").exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert "interrupted while planning" in err
    assert list((lab.path / "home" / "runs").iterdir()) == []


def test_a_fork_server_killed_while_planning_is_asked_again_once(lab: Lab) -> None:
    lab.plan("dieplan-1", "pass-0")
    done = lab.run("-n", "1", "--no-ingest")
    assert done.code == 0, done.err
    assert lab.outcomes() == {"pass-0": "pass"}
    lab.plan("dieplan-9", "pass-0")
    again = lab.run("-n", "1", "--no-ingest")
    assert again.code == 3
    assert (
        "could not be planned; nothing was run, start it again: the child was lost with the fork server" in again.last
    )


def test_a_run_that_lives_cannot_be_resumed(lab: Lab) -> None:
    lab.plan("hang-0")
    process = start(lab)
    done = lab.run("--resume", lab.folders()[0].path.name)
    process.kill()
    process.communicate()
    assert done.code == 2
    assert "still being run" in done.last


def test_resume_refuses_a_changed_plan_and_a_changed_device_and_names_the_change(lab: Lab) -> None:
    lab.plan("pass-0", "pass-1")
    assert lab.run("-n", "1").code == 0
    run = lab.folders()[0].path.name
    lab.plan("pass-0", "pass-2")
    done = lab.run("--resume", run)
    assert done.code == 2
    assert "its plan was" in done.last
    lab.plan("pass-0", "pass-1")
    (lab.state / "version").write_text("2")
    done = lab.run("--resume", run)
    assert done.code == 2
    assert "its device.driver was 1 and is 2 now" in done.last


def test_resume_refuses_another_torch_and_a_release_that_is_gone(lab: Lab) -> None:
    lab.plan("pass-0")
    assert lab.run("-n", "1").code == 0
    folder = lab.folders()[0]
    header = json.loads(folder.header.read_text())
    prints = header["fingerprint"]
    for changed, told in (
        ({"fingerprint": {**prints, "torch": "0.4.1"}}, f"its torch was 0.4.1 and is {prints['torch']} now"),
        ({"release": "fake-0"}, "the earlier run was of release 'fake-0'"),
    ):
        folder.header.write_text(json.dumps(header | changed))
        done = lab.run("--resume", folder.path.name)
        assert done.code == 2, done.err
        assert told in done.last


def test_resuming_a_complete_run_runs_nothing(lab: Lab) -> None:
    lab.plan("pass-0", "segv-0")
    assert lab.run("-n", "1").code == 0
    before = lab.outcomes()
    activations = (lab.state / "activations").read_text().count("\n")
    assert lab.run("--resume", lab.folders()[0].path.name, "-n", "1").code == 0
    assert lab.outcomes() == before
    assert (lab.state / "activations").read_text().count("\n") == activations + 1, "only the survey"


def zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
