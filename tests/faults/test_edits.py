"""The program is changed while a run goes on: no test is charged with it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.errors import IncompleteError
from conformance.supervision.sources import Sources
from tests.faults.harness import COMMAND, FAKES, Lab, many
from tests.faults.test_resume import wait_for_work


def start(lab: Lab, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, "run", "--no-ingest", "-n", "2", *arguments], cwd=lab.path, text=True,
        env=lab.environment() | {"PYTHONPATH": str(lab.path / "fakes")}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_a_suite_that_is_edited_under_a_run_ends_it_incomplete_and_put_back_it_is_finished(lab: Lab) -> None:
    lab.plan(*many("sleep", 200))
    shutil.copytree(FAKES, lab.path / "fakes")
    suite = lab.path / "fakes" / "fake_suite.py"
    before = suite.read_bytes()
    process = start(lab, "--target", "fake", "--suite", "fake")
    wait_for_work(lab, process)
    suite.write_text("def broken(:\n")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert f"the program or its tests were changed while the run went on: {suite}" in err.strip().splitlines()[-1]
    assert set(lab.outcomes().values()) == {"pass", "not_run"}
    run = lab.folders()[0].path.name
    suite.write_bytes(before + b"\n")
    process = start(lab, "--resume", run)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "its code was" in err
    suite.write_bytes(before)
    process = start(lab, "--resume", run)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert set(lab.outcomes().values()) == {"pass"}


def test_a_file_that_is_only_touched_is_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("a = 1\n")
    sources = Sources.of([path])
    path.unlink()
    path.write_text("a = 1\n")
    sources.require_unchanged(10.0)
    path.write_text("a = 2\n")
    sources.require_unchanged(10.5)
    with pytest.raises(IncompleteError, match="put it back"):
        sources.require_unchanged(10.5, at_once=True)
    path.unlink()
    with pytest.raises(IncompleteError, match="put it back"):
        sources.require_unchanged(12.0)
