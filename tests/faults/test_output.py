"""Readers leave, disks fill, streams are closed: the run goes on and its exit code stays true."""

import json
import shlex
import signal
import subprocess

import pytest

from tests.faults.harness import COMMAND, Lab, many
from tests.faults.test_resume import wait_for_work

RUN = "run --target fake --suite fake --no-ingest -n 1 --format"


def shell(lab: Lab, arguments: str, redirection: str) -> "subprocess.CompletedProcess[str]":
    """The command's exit status and what its streams led to."""
    script = f"set -o pipefail; {shlex.join(COMMAND)} {arguments} {redirection}"
    return subprocess.run(
        ["bash", "-c", script], env=lab.environment(), cwd=lab.path, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip


def test_a_reader_that_leaves_is_no_failure_and_changes_no_exit_code(lab: Lab) -> None:
    lab.plan("fail-0", *many("pass", 300))
    done = shell(lab, f"{RUN} ndjson", "| head -1")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    assert done.stderr.strip().endswith("(exit 0: fine)")
    assert shell(lab, f"{RUN} ndjson --fail-on fail", "| head -1").returncode == 1
    assert "not_run" not in lab.outcomes().values()


def test_output_that_cannot_be_written_is_exit_4_and_loses_no_test(lab: Lab) -> None:
    lab.plan("pass-0")
    done = shell(lab, f"{RUN} table", "> /dev/full")
    assert done.returncode == 4
    last = done.stderr.strip().splitlines()[-1]
    assert last == "conformance: the output could not be written: No space left on device (exit 4: store)"
    assert lab.outcomes() == {"pass-0": "pass"}


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "2> >(head -c 1 >/dev/null)"])
def test_remarks_that_nobody_can_read_stop_nothing(lab: Lab, redirection: str) -> None:
    lab.plan("pass-0", "segv-0")
    done = shell(lab, f"{RUN} json", redirection)
    assert done.returncode == 0
    assert json.loads(done.stdout)["outcomes"] == {"pass": 1, "crash": 1}


def test_a_closed_stdout_stops_nothing(lab: Lab) -> None:
    lab.plan("pass-0")
    done = shell(lab, f"{RUN} table", ">&-")
    assert done.returncode == 0, done.stderr
    assert lab.outcomes() == {"pass-0": "pass"}


def test_an_interrupted_run_is_stored_as_incomplete(lab: Lab) -> None:
    lab.plan("pass-0", *many("sleep", 200))
    process = lab.start("run", "--target", "fake", "--suite", "fake", "-n", "1", "--format", "json")
    wait_for_work(lab, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    run = lab.folders()[0].path.name
    said = lab.call("show", run, "--format", "json")
    assert process.returncode == 130, err
    assert f"conformance run --resume {run}" in err
    assert said.code == 0, said.err
    assert not said.document["sealed"]
    assert said.document["planned"] == 201
