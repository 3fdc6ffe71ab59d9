"""Set-up says in one sentence what is missing, and is quick when nothing is to do."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance import bootstrap


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What set-up reads of a checkout, without an environment."""
    for name in bootstrap.INPUTS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(bootstrap.ROOT / name, tmp_path / name)
    return tmp_path


def set_up(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    script = checkout / "conformance" / "bootstrap.py"
    variables = {**os.environ, "CXX": "", **environment}
    return subprocess.run([sys.executable, str(script)], env=variables, capture_output=True, text=True, check=False)


def test_a_missing_compiler_is_one_sentence(checkout: Path) -> None:
    done = set_up(checkout, PATH=str(checkout))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("setup: no C++ compiler was found: install one")
    assert done.stderr.count("\n") == 1
    assert not (checkout / ".venv").exists()


def test_a_compiler_named_in_cxx_that_is_not_there_is_missing(checkout: Path) -> None:
    done = set_up(checkout, CXX="no-such-compiler")
    assert done.returncode == 2
    assert "no C++ compiler" in done.stderr


def test_a_python_that_is_not_there_is_one_sentence() -> None:
    command = ["make", "--no-print-directory", "setup", "PYTHON=no-such-python"]
    done = subprocess.run(command, cwd=bootstrap.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("setup: there is no no-such-python: install Python 3.11 or newer")
    assert "make setup PYTHON=python3.12` (exit 2: usage)" in done.stderr


def test_an_old_python_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bootstrap, "OLDEST_PYTHON", (99, 0))
    assert bootstrap.main() == 2
    assert "is too old: install Python 3.11 or newer" in capsys.readouterr().err


def test_a_full_disk_is_one_sentence(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "ROOT", checkout)
    monkeypatch.setattr(bootstrap, "VENV", checkout / ".venv")
    monkeypatch.setattr(bootstrap, "STAMP", checkout / ".venv" / "stamp")
    monkeypatch.setattr(bootstrap, "NEEDED_BYTES", 10**18)
    assert bootstrap.main() == 2
    error = capsys.readouterr().err
    assert "GB free, set-up needs 1000000000 GB: free some space" in error


def test_a_failed_step_names_itself(checkout: Path) -> None:
    (checkout / ".venv").write_text("a file where the environment should be")
    done = set_up(checkout)
    assert done.returncode == 2
    assert "step 1 of 3 (creating .venv) failed" in done.stderr


def test_nothing_is_done_twice(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    stamp = subprocess.run(
        [sys.executable, "-c", "import bootstrap; print(bootstrap.stamp(), end='')"],
        cwd=checkout / "conformance", capture_output=True, text=True, check=True,
    )  # fmt: skip
    (checkout / ".venv" / bootstrap.STAMP.name).write_text(stamp.stdout)
    started = time.monotonic()
    done = set_up(checkout, PATH=str(checkout))
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - started < 30, "it did something"


def test_a_changed_constraint_is_set_up_anew(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / bootstrap.STAMP.name).write_text("of another time")
    assert set_up(checkout, PATH=str(checkout)).returncode == 2
