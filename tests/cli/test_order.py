"""What depends on the order and what was left changed: stored, listed, explained, and harmless whatever it says."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.outcomes import Outcome
from conformance.store import Store, ingest
from tests.conftest import Command
from tests.runs import Made, attempt, make_run

HOSTILE = "environment: A\x1b]0;owned\x07"


@pytest.fixture
def stored(store: Store, tmp_path: Path) -> None:
    failed, right = attempt(Outcome.FAIL, cause="c"), replace(attempt(Outcome.PASS), alone=True)
    results: dict[str, Made] = {
        "forward.add.float32": [failed, right, right],
        "forward.mul.float32": [failed, right],
        "forward.sub.float32": replace(attempt(Outcome.PASS), leaked=(HOSTILE, "default_dtype: x instead of y")),
        "forward.div.float32": Outcome.PASS,
    }
    ingest(store, make_run(tmp_path / "r1", results))


@pytest.mark.usefixtures("stored")
def test_order_dependent_tests_are_told_from_merely_flaky_ones(command: Command) -> None:
    lines = command("show", "r1", "--format", "ndjson").out.splitlines()
    found = {each["op"]: (each["flaky"], each["order_dependent"]) for each in map(json.loads, lines)}
    assert found == {"add": (True, True), "mul": (True, False), "sub": (False, False), "div": (False, False)}
    said = command("show", "r1", "--order-dependent")
    assert "fail (order-dependent)" in said.out
    assert "1 of 1 tests" in said.err


@pytest.mark.usefixtures("stored")
def test_explain_tells_which_attempts_were_alone(command: Command) -> None:
    said = command("explain", "forward.add.float32").out
    assert "order-dependent: it ends otherwise alone than among others" in said
    assert [line for line in said.splitlines() if line.startswith("attempt ")] == [
        "attempt 1: fail in stage compare, ran on device",
        "attempt 2, alone: pass in stage compare, ran on device",
        "attempt 3, alone: pass in stage compare, ran on device",
    ]


@pytest.mark.usefixtures("stored")
def test_what_was_left_changed_is_listed_and_explained(command: Command) -> None:
    said = command("show", "r1", "--leaks")
    assert "default_dtype: x instead of y" in said.out
    assert "1 of 1 tests" in said.err
    assert "\x1b" not in said.out
    assert "left changed:" in command("explain", "forward.sub.float32").out
