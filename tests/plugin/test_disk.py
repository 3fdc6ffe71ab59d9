"""A disk that fills up under a plain pytest session ends it with one sentence and code 4, and no test pays for it."""

import resource
import subprocess
from pathlib import Path

import pytest

from conformance import record
from conformance.errors import ExitCode
from conformance.outcomes import Outcome
from conformance.record import RunFolder
from tests.plugin.sessions import command_line, environment

MANY = """
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, parametrize


class TestMany(TestCase):
    @parametrize("number", range(300))
    def test_add(self, device, number):
        self.assertEqual(torch.ones(3, device=device) + number, torch.ones(3) + number)


instantiate_device_type_tests(TestMany, globals())
"""
ROOM = 100_000
"""Bytes: the overloads and the plan of 300 tests fit, their journal does not."""


def limited(folder: Path, room: int, *options: str) -> "subprocess.CompletedProcess[str]":
    """A session whose files cannot grow past `room` bytes, as if the disk were full."""
    file = folder / "test_many.py"
    file.write_text(MANY)
    return subprocess.run(
        command_line("--conformance-run", str(folder / "run"), *options, str(file)), env=environment(folder),
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
    )  # fmt: skip


def sentence(done: "subprocess.CompletedProcess[str]") -> str:
    """The only line about the disk."""
    (line,) = [line for line in (done.stdout + done.stderr).splitlines() if "cannot be written" in line]
    return line


@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="alone"),
        pytest.param(("-n", "2", "--dist", "loadfile"), id="a worker", marks=pytest.mark.slow),
    ],
)
def test_a_disk_that_fills_up_keeps_what_ended_and_charges_no_test(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = limited(tmp_path, ROOM, *options)
    assert done.returncode == ExitCode.STORE, done.stdout
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert sentence(done).endswith("tests without an outcome are not_run (exit 4: store) !")
    found = record.counts(record.read_results(RunFolder(path=tmp_path / "run")))
    assert found[Outcome.PASS] > 100
    assert found[Outcome.NOT_RUN] == 300 - found[Outcome.PASS] > 0
    assert f"300 planned: {found[Outcome.PASS]} pass, {found[Outcome.NOT_RUN]} not_run" in done.stdout


@pytest.mark.slow
def test_a_disk_without_room_for_the_plan_runs_nothing(tmp_path: Path) -> None:
    done = limited(tmp_path, 2_000)
    assert done.returncode == ExitCode.STORE, done.stdout
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert "(exit 4: store)" in sentence(done)
    assert "there is no plan" in done.stdout
    assert "passed" not in done.stdout
