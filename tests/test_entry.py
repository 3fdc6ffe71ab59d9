"""Ctrl-C while the command line is still being imported: one line and code 130, whenever it comes."""

import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from conformance.errors import ExitCode

START = """
import signal, sys
from conformance.entry import main

class Watch:
    @staticmethod
    def find_spec(name, path, target=None):
        if name == "conformance.cli":
            print("entered", flush=True)

sys.meta_path.insert(0, Watch)
main()
"""
RUN = ("run", "--target", "sim", "--ops", "add", "--dry-run")


def interrupted(folder: Path, seconds: float, *command: str, before: str = "") -> tuple[int, str]:
    """Code and stderr of a command that gets a SIGINT so long after it began to import the command line."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"{before}{START}", *command],
        env={"CONFORMANCE_HOME": str(folder), "PATH": ""}, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "entered\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


@pytest.mark.parametrize("milliseconds", [0, 4, 10, 25, 50, 100, 170, 300])
def test_an_interrupt_is_one_line_and_code_130(tmp_path: Path, milliseconds: int) -> None:
    code, err = interrupted(tmp_path, milliseconds / 1000, *RUN)
    assert code == ExitCode.INTERRUPTED, err
    assert "Traceback" not in err
    assert "KeyboardInterrupt" not in err
    line = err.splitlines()[-1]
    assert line.startswith("conformance: interrupted")
    assert line.endswith("(exit 130: interrupted)")


def test_whoever_starts_the_command_with_interrupts_ignored_is_obeyed(tmp_path: Path) -> None:
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    code, err = interrupted(tmp_path, 0.02, "targets", before=ignoring)
    assert code == ExitCode.FINE, err
    assert "interrupted" not in err


def test_the_installed_command_starts_there() -> None:
    (script,) = entry_points(group="console_scripts", name="conformance")
    assert script.value == "conformance.entry:main"
