"""`conformance model` and `conformance models` on a real store: numbers agree, names of strangers are harmless."""

import csv
import json
from pathlib import Path

import pytest

from conformance.errors import ExitCode
from conformance.outcomes import Outcome
from tests.conftest import Command
from tests.modelled import entry, facts, identity, make_models, refused, signature
from tests.runs import attempt

LLAMA, BERT = signature("aaaaaaaaaaaa"), signature("bbbbbbbbbbbb", "BertModel", "bert")
NO = refused("unknown-model-type", "mamba9")
EVIL = "\x1b[31m</script>\u202e=cmd"
ENTRIES = [
    entry("meta/llama", LLAMA["id"], downloads=100),
    entry(EVIL, BERT["id"], downloads=5, text_generation=False),
    entry("who/mamba9", NO["key"], downloads=70),
]  # fmt: skip


@pytest.fixture
def stored(command: Command, tmp_path: Path) -> Command:
    """The command line over a store with one run of three models."""
    results = {identity(LLAMA): attempt(Outcome.FALLBACK, ops=("aten::sort",)), identity(BERT): Outcome.PASS}
    path = make_models(tmp_path / "r1", [LLAMA, BERT], ENTRIES, results, refusals=[NO], told=[facts(identity(LLAMA))])
    assert command("ingest", str(path)).code == ExitCode.FINE
    return command


def test_a_model_is_told_with_its_reduction_and_its_limits(stored: Command) -> None:
    said = stored("model", "meta/llama")
    assert said.code == ExitCode.FINE
    assert "simulated, not real hardware" in said.out
    for words in ("hidden_size", "4096", '32 × "a"', "fallback", "aten::sort", "it does not show that the full model"):
        assert words in said.out, words
    document = json.loads(stored("model", "meta/llama", "--run", "r1", "--format", "json").out)
    assert document["simulated"] is True
    (found,) = document["entries"]
    assert found["came"][0]["outcome"] == "fallback"
    assert {"path": "hidden_size", "full": 4096, "reduced": 64} in found["reduction"]


def test_an_unknown_model_is_one_sentence_with_names_near_it(stored: Command) -> None:
    said = stored("model", "meta/lama")
    assert said.code == ExitCode.USAGE
    assert "has no model 'meta/lama': near are meta/llama" in said.err.splitlines()[-1]


def test_a_name_cannot_take_the_terminal_over(stored: Command) -> None:
    for arguments in (("model", EVIL), ("models", "--by", "model"), ("model", f"{EVIL}x")):
        said = stored(*arguments)
        assert "\x1b" not in said.out + said.err
        assert "\u202e" not in said.out + said.err
    assert EVIL not in stored("model", EVIL, "--format", "json").out
    rows = list(csv.reader(stored("models", "--by", "model", "--format", "csv").out.splitlines()))
    assert rows[2][0] == "\\x1b[31m</script>\\u202e=cmd"


def test_every_form_and_grouping_has_the_same_totals(stored: Command) -> None:
    for by in ("architecture", "family"):
        document = json.loads(stored("models", "--by", by, "--format", "json").out)
        assert document["total"]["outcomes"] == {"pass": 1, "fallback": 1, "invalid": 1}
        lines = [json.loads(line) for line in stored("models", "--by", by, "--format", "ndjson").out.splitlines()]
        assert sum(each["entries"] for each in document["counts"]) == sum(each["entries"] for each in lines) == 3
        table = stored("models", "--by", by, "--limit", "1")
        assert table.out.splitlines()[-1].split() == ["total", "175", "3", "2", "1", "1", "1"]
    assert len(json.loads(stored("models", "--by", "model", "--format", "json").out)["models"]) == 3


def test_coverage_has_a_denominator_and_what_each_architecture_lacks(stored: Command) -> None:
    said = stored("models", "--coverage")
    assert "the 2 most downloaded of 2 text-generation architectures" in said.out
    assert "0.0 % (0 of 1)" in said.out
    assert "100.0 % (1 of 1)" in said.out
    assert "ran on the CPU: aten::sort" in said.out
    document = json.loads(stored("models", "--coverage", "--top", "1", "--format", "json").out)
    assert [each["architecture"] for each in document["architectures"]] == ["LlamaForCausalLM"]
    assert document["shares"][0]["outcomes"] == {"fallback": 1}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--outcomes", "nice", "--by", "model"), "unknown outcome 'nice'"),
        (("--outcomes", "pass"), "add --by model"),
        (("--run", "nowhere"), "neither a stored run nor a release"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(stored: Command, arguments: tuple[str, ...], words: str) -> None:
    said = stored("models", *arguments)
    assert said.code == ExitCode.USAGE
    assert words in said.err.splitlines()[-1]


def test_a_store_without_models_says_how_to_get_some(command: Command) -> None:
    said = command("models")
    assert said.code == ExitCode.USAGE
    assert "conformance run --suite models" in said.err
