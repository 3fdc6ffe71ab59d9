"""Runs with models for tests, written as the suite `models` writes them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.journal import Journal
from conformance.outcomes import Attempt, Outcome, TestId
from conformance.plan import Decision, PlannedTest, RunHeader, Selection, digest
from conformance.record import RunFolder
from tests.runs import attempt

Made = Outcome | Attempt | None


def signature(name: str, architecture: str = "LlamaForCausalLM", family: str = "llama", **more: Any) -> dict[str, Any]:
    """A line of signatures.jsonl."""
    full = {
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "text_config": {"vocab_size": 32_000},
        "layer_types": ["a"] * 32,
    }
    reduced = {"hidden_size": 64, "num_hidden_layers": 2, "text_config": {"vocab_size": 512}, "layer_types": ["a"] * 2}
    return {
        "id": name, "digest": name * 2, "model_type": family, "architecture": architecture, "family": family,
        "reduced": reduced, "full": full, "model": "first/of-it", "origin": "config", **more,
    }  # fmt: skip


def entry(name: str, stands: str, **more: Any) -> dict[str, Any]:
    """A line of attribution.jsonl; `stands` is a signature's id or the key of a planned test."""
    found = {"invalid": stands} if "::" in stands else {"signature": stands, "architecture": "LlamaForCausalLM"}
    return {"id": name, **found, "origin": "config", "source": "mine", "text_generation": True, **more}


def refused(
    rule: str, told: str = "mine", outcome: str = "invalid", reason: str = "no such model type"
) -> dict[str, Any]:
    """A line of refused.jsonl."""
    key = f"models::{told}::unknown::{rule}_00000000"
    return {"key": key, "outcome": outcome, "rule": rule, "reason": reason, "model_type": told, "architecture": told}


def identity(line: Mapping[str, Any], mode: str = "eager", dtype: str = "float32") -> TestId:
    """The planned test of a signature."""
    name = f"{line['id']}_{mode}_{dtype}"
    return TestId(suite="models", file=line["family"], cls=line["architecture"], name=name, dtype=dtype, kind=mode)


def facts(test: TestId, **more: Any) -> dict[str, Any]:
    """A line of facts-*.jsonl."""
    return {
        "key": test.key, "number": 1, "level": "tiny", "config": {"hidden_size": 64}, "inputs": {},
        "seconds": {"build": 0.5, "forward": 0.25}, "memory": {"parameters": 640, "process": 3 << 20}, **more,
    }  # fmt: skip


def make_models(
    path: Path,
    signatures: Sequence[Mapping[str, Any]],
    entries: Sequence[Mapping[str, Any]],
    results: Mapping[TestId, Made],
    *,
    refusals: Sequence[Mapping[str, Any]] = (),
    told: Sequence[Mapping[str, Any]] = (),
    planned_refusals: bool = True,
    selection: Selection | None = None,
    **more: Any,
) -> Path:
    """Write the folder of a run of models and return it."""
    tests = [PlannedTest(id=each, definition="1") for each in results]
    if planned_refusals:
        tests += [_refusal(each) for each in refusals]
    header = RunHeader(**{
        "run": path.name, "target": "sim", "release": "sim-1.1", "simulated": True,
        "selection": selection or Selection(suites=("models",)), "plan_digest": digest(tests), "planned": len(tests),
        "started": 1_700_000_000.0, "environment": {"torch": "2.13.0"}, **more,
    })  # fmt: skip
    folder = RunFolder(path=path)
    folder.create(header, tests)
    (path / "models").mkdir(exist_ok=True)
    for name, lines in (("signatures", signatures), ("attribution", entries), ("refused", refusals), ("facts-1", told)):
        (path / "models" / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    with Journal(folder.journals / "one.jsonl") as journal:
        for test, made in results.items():
            if made is not None:
                journal.begin(test.key)
                journal.end(test.key, attempt(made) if isinstance(made, Outcome) else made)
    return path


def _refusal(line: Mapping[str, Any]) -> PlannedTest:
    _, file, cls, name = line["key"].split("::")
    decided = Decision(outcome=Outcome.from_word(line["outcome"]), rule=line["rule"], reason=line["reason"])
    return PlannedTest(
        id=TestId(suite="models", file=file, cls=cls, name=name, kind="invalid"), definition="1", decided=decided
    )
