"""`conformance skips`: the same listing from a folder and from the store, and hostile text harmless."""

import json
from pathlib import Path

import pytest

from conformance.outcomes import Outcome, Source
from conformance.plan import Decision
from conformance.store import Store, ingest
from tests.conftest import Command
from tests.runs import Made, attempt, make_run

ELSEWHERE = Source(who="elsewhere", code="Plugin.skip", where="plugin.py:3")
GATE = Source(who="gate", code="onlyOn.__call__.<locals>.only_fn", where="test/test_a.py:8")
RESULTS: dict[str, Made] = {
    "a.add.float32": Outcome.PASS,
    "b.add.float32": Decision(
        outcome=Outcome.SKIP_ELIGIBILITY, rule="upstream:device-gate", reason="Only runs on cuda", source=GATE
    ),
    "c.add.float32": Decision(
        outcome=Outcome.SKIP_ELIGIBILITY, rule="upstream:device-gate", reason="Only runs on cuda", source=GATE
    ),
    "d.add.float32": attempt(
        Outcome.SKIP_UNCLASSIFIED, rule="no-rule", message="\x1b[2Jodd (raised in Plugin.skip)", source=ELSEWHERE
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run(tmp_path / "r1", RESULTS)


def test_the_store_and_the_folder_tell_the_same(command: Command, store: Store, folder: Path) -> None:
    ingest(store, folder)
    stored = json.loads(command("skips", "r1", "--format", "json").out)
    assert json.loads(command("skips", str(folder), "--format", "json").out) == stored
    assert stored["skipped"] == 3
    assert [(each["tests"], each["who"], each["text"]) for each in stored["texts"]] == [
        (2, "gate", "Only runs on cuda"), (1, "elsewhere", "\x1b[2Jodd")
    ]  # fmt: skip


def test_what_no_rule_explains_is_listed_with_a_rule_to_paste(command: Command, folder: Path) -> None:
    said = command("skips", str(folder), "--unclassified")
    assert said.code == 0
    assert "Only runs on cuda" not in said.out
    assert 'origins = ["elsewhere"]' in said.out
    assert "CONFORMANCE_RULES" in said.err
    assert "\x1b" not in said.out
    assert "1 of 1 texts, 1 skipped tests" in said.err


def test_a_run_that_is_nowhere_is_one_sentence(command: Command) -> None:
    said = command("skips", "nothing")
    assert (said.code, said.out) == (2, "")
    assert "neither a stored run nor a release" in said.err


def test_explain_tells_both_sides(command: Command, store: Store, folder: Path) -> None:
    ingest(store, folder)
    said = command("explain", "b.add").out
    assert "our rule:      upstream:device-gate: a guard of PyTorch's harness" in said
    assert "by:            onlyOn.only_fn" in said
    assert "at:            test/test_a.py:8" in said
    document = json.loads(command("explain", "b.add", "--format", "json").out)
    assert document["theirs"]["where"] == "test/test_a.py:8"
    assert document["ours"]["rule"] == "upstream:device-gate"
