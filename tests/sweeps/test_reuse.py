"""A second run of models that takes over what nothing has changed for, end to end."""

import json
from pathlib import Path

import pytest

from conformance.errors import ExitCode
from tests.conftest import Command

pytestmark = pytest.mark.slow


def test_a_second_run_takes_over_what_it_can_and_says_so_everywhere(command: Command, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text('{"id": "x/llama", "model_type": "llama"}\n{"id": "x/none", "model_type": "none"}\n')
    second.write_text('{"id": "y/llama", "model_type": "llama"}\n{"id": "y/bert", "model_type": "bert"}\n')
    options = ("--target", "sim", "-n", "1", "--format", "json")
    made = json.loads(command("run", "--catalogue", str(first), *options).out)
    assert made["origins"] == {"ran": 1, "reused": 0, "settled while planning": 1, "not run": 0}
    again = json.loads(command("run", "--catalogue", str(second), *options, "--reuse").out)
    assert again["origins"] == {"ran": 1, "reused": 1, "settled while planning": 0, "not run": 0}
    assert again["reused"] == {made["run"]: 1}

    entry = json.loads(command("model", "y/llama", "--run", again["run"], "--format", "json").out)["entries"][0]
    assert (entry["came"][0]["reused"], entry["level"], entry["origin"]) == (made["run"], "tiny", "defaults")
    assert {"path": "hidden_size", "full": 4096, "reduced": 64} in entry["reduction"]
    other = json.loads(command("model", "y/bert", "--run", again["run"], "--format", "json").out)["entries"][0]
    assert other["came"][0]["reused"] == ""

    refused = command("run", "--failed-of", made["run"], "--reuse")
    assert (refused.code, "--reuse cannot be given with --failed-of" in refused.err) == (ExitCode.USAGE, True)
    wrong = command("run", "--target", "sim", "--suite", "ops", "--reuse", "--dry-run")
    assert (wrong.code, "--reuse is for suite models" in wrong.err) == (ExitCode.USAGE, True)
