"""Tests that misbehave under plain pytest cost their own outcome and nobody else's."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conformance import record
from conformance.outcomes import Outcome
from conformance.record import RunFolder
from tests.conftest import Command
from tests.plugin.sessions import FILES, command_line, environment, session

FAULTS = str(FILES / "faults.py")


@pytest.mark.slow
def test_what_dies_under_two_workers_is_a_crash_and_the_rest_go_on(tmp_path: Path, command: Command) -> None:
    done = session(tmp_path, "-n", "2", FAULTS, "-k", "TestFaults")
    results = done.results()
    assert {name.partition("::")[2]: each.outcome for name, each in results.items()} == {
        "test_a_right": Outcome.PASS,
        "test_b_is_killed": Outcome.CRASH,
        "test_c_closes_stdout": Outcome.PASS,
        "test_d_forks_and_the_child_comes_back": Outcome.PASS,
        "test_e_prints_what_looks_like_a_journal": Outcome.PASS,
        "test_f_exits": Outcome.ERROR,
        "test_g_leaves_at_once": Outcome.CRASH,
        "test_h_right": Outcome.PASS,
    }
    assert all(len(each.attempts) == 1 for each in results.values())
    assert results["TestFaults::test_b_is_killed"].shown.rule == "open-begin"
    assert "2 crash" in done.output
    assert command("ingest", str(done.folder.path)).code == 0
    stored = json.loads(command("show", done.folder.read_header().run, "--format", "json").out)
    assert stored["outcomes"] == {"pass": 5, "error": 1, "crash": 2}
    # Some tests of the file were left out by -k: the run must not stand for the whole file.
    assert len(done.folder.read_header().selection.keys) == len(results)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["a signal", "a test"])
def test_an_interrupted_session_keeps_what_ended_and_blames_no_test(tmp_path: Path, ending: str) -> None:
    chosen = "TestEnds and not ends_pytest" if ending == "a signal" else "TestEnds"
    where = RunFolder(path=tmp_path / "run")
    process = subprocess.Popen(
        command_line("--conformance-run", str(where.path), FAULTS, "-k", chosen), cwd=FILES.parents[1],
        env=environment(tmp_path) | {"SECONDS_TO_WAIT": "60"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    if ending == "a signal":
        _wait_for(where.journals / "main.jsonl", b"test_c_waits")
        process.send_signal(signal.SIGINT)
    process.wait(timeout=120)
    results = {each.test.id.name: each.outcome for each in record.read_results(where)}
    assert results.pop("test_a_right") is Outcome.PASS
    assert set(results.values()) == {Outcome.NOT_RUN}


@pytest.mark.slow
def test_an_exception_that_cannot_be_shown_costs_its_own_test_alone(tmp_path: Path) -> None:
    done = session(tmp_path, FAULTS, "-k", "TestHostile")
    results = {each.test.id.name: each for each in done.results().values()}
    assert results["test_a_raises_what_cannot_be_shown"].outcome is Outcome.ERROR
    assert "its text cannot be had" in results["test_a_raises_what_cannot_be_shown"].shown.message
    assert results["test_b_skips_without_words"].outcome is Outcome.ERROR
    assert results["test_c_right"].outcome is Outcome.PASS
    assert "INTERNALERROR" not in done.output


def _wait_for(path: Path, text: bytes) -> None:
    deadline = time.monotonic() + 120
    while not (path.exists() and text in path.read_bytes()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
