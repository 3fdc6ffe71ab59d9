"""What watches over the tests themselves."""

import os
import subprocess
import sys

import pytest

from tests.conftest import Command
from tests.leftovers import MARK, survivors


def test_a_process_that_outlives_its_parent_is_found_and_one_that_ended_is_not() -> None:
    forget = "import subprocess as s; print(s.Popen(['sleep', '60'], stdout=s.DEVNULL, stderr=s.DEVNULL).pid)"
    environment = {**os.environ, MARK: "another-session"}
    done = subprocess.run([sys.executable, "-c", forget], env=environment, capture_output=True, text=True, check=True)
    (found,) = survivors("another-session", patience=0)
    assert found == f"{int(done.stdout)}: sleep 60 "
    os.kill(int(done.stdout), 9)
    assert survivors("another-session") == []


def test_a_test_that_names_no_database_starts_no_server(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    said = command("runs")
    assert said.code == 4
    assert "127.0.0.1:1/a-test-has-to-ask-for-a-database" in said.err
