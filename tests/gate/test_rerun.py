"""Blocked tests run again, alone, before the gate says so: real processes on the fake target."""

from pathlib import Path

import pytest

from tests.faults.harness import Done, Lab

RUN = ("run", "--target", "fake", "--suite", "fake", "-n", "1")
REPORT = 'flaky = "report"\n'


@pytest.fixture
def lab(tmp_path: Path, database_url: str) -> Lab:
    """A baseline in which all is right, and a candidate in which one test fails the first time."""
    found = Lab(tmp_path, database_url)
    found.plan("pass-0", "shaky-0", "shaky-1")
    for name in ("shaky-0", "shaky-1"):
        (found.state / f"once-{name}").touch()
    assert found.call(*RUN, "--release", "fake-1").code == 0
    (found.state / "once-shaky-0").unlink()
    assert found.call(*RUN, "--release", "fake-2").code == 0
    return found


def gate(lab: Lab, *more: str, policy: str = REPORT) -> Done:
    (lab.path / "gate.toml").write_text(policy)
    return lab.call("gate", "--candidate", "fake-2", "--policy", str(lab.path / "gate.toml"), "--format", "json", *more)


def counts(done: Done) -> tuple[int, int, int]:
    found = done.document["counts"]
    assert isinstance(found, dict)
    return done.code, found["effective"], found["flaky"]


@pytest.mark.slow
def test_what_is_right_when_it_is_run_again_alone_is_flaky_and_its_run_is_kept_as_evidence(lab: Lab) -> None:
    assert counts(gate(lab)) == (1, 1, 0)
    done = gate(lab, "--rerun", "1")
    assert counts(done) == (0, 0, 1), done.err
    assert "running 1 blocked tests of run" in done.err
    again = done.document["again"]
    assert again == [lab.folders()[-1].path.name]
    assert len(lab.folders()) == 3
    assert counts(gate(lab, "--again", str(again[0]))) == (0, 0, 1)
    assert counts(gate(lab, "--again", str(again[0]), policy="")) == (1, 1, 0), "the shipped policy blocks flaky tests"
    assert counts(gate(lab)) == (1, 1, 0), "a run of some tests is no part of the release"
    assert counts(gate(lab, "--rerun", "1", policy=REPORT + "max_rerun = 0\n")) == (1, 1, 0)
    assert len(lab.folders()) == 3, "more than that are no flakes"
    assert lab.call(*RUN, "--release", "fake-1").code == 0
    refused = gate(lab, "--again", lab.folders()[-1].path.name)
    assert refused.code == 2
    assert "is no run of the candidate again" in refused.err
