"""Reports of models: whatever is asked, the totals are those of the catalogue, and unknown stays unknown."""

from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.outcomes import Attempt, Outcome
from conformance.store import Store, ingest
from sweeps.reports import counts, coverage, joined, listing, one
from sweeps.reports.counts import By
from sweeps.reports.joined import NOT_PLANNED, Joined, Way
from sweeps.reports.listing import Asked
from tests.modelled import entry, facts, identity, make_models, refused, signature
from tests.runs import attempt, make_run

EAGER = Way("eager", "float32")
LLAMA, OTHER = signature("aaaaaaaaaaaa"), signature("a2a2a2a2a2a2")
BERT = signature("bbbbbbbbbbbb", "BertModel", "bert")
QWEN = signature("cccccccccccc", "QwenForCausalLM", "qwen")
NO = refused("unknown-model-type", "mamba9", reason="transformers 5 has no model type 'mamba9'")
ENTRIES = [
    entry("meta/llama-8b", LLAMA["id"], downloads=100, own={"hidden_size": 8192, "text_config.vocab_size": 128_000}),
    entry("meta/Llama-70b", LLAMA["id"], downloads=50),
    entry("meta/llama-odd", OTHER["id"], downloads=20),
    entry("google/bert", BERT["id"], downloads=900, text_generation=False),
    entry("alibaba/qwen", QWEN["id"], downloads=60, origin="dims"),
    entry("meta/llama-8b", OTHER["id"], downloads=1),
    entry("who/mamba9", NO["key"], downloads=70),
]  # fmt: skip
FELL = attempt(Outcome.FALLBACK, ops=("aten::sort", "aten::histc"))
RESULTS: dict[object, Outcome | Attempt | None] = {
    identity(LLAMA): FELL,
    identity(LLAMA, "train"): attempt(Outcome.ERROR, message="no backward for aten::foo"),
    identity(OTHER): Outcome.PASS,
    identity(BERT): Outcome.PASS,
    identity(QWEN): None,
}


@pytest.fixture
def found(store: Store, tmp_path: Path) -> Joined:
    told = [
        facts(identity(LLAMA), config={**LLAMA["reduced"], "layer_types": ["a"] * 4}, level="small", missing=["audio"])
    ]
    ingest(store, make_models(tmp_path / "r1", [LLAMA, OTHER, BERT, QWEN], ENTRIES, RESULTS, refusals=[NO], told=told))
    return joined.required(store, "")[0]


def test_every_total_is_the_number_of_entries_in_the_catalogue(found: Joined) -> None:
    for way in (*found.ways, Way("compile", "bfloat16")):
        for by in (By.ARCHITECTURE, By.FAMILY):
            rows = counts.grouped(found, way, by)
            assert sum(each.entries for each in rows) == len(ENTRIES)
            assert all(sum(each.outcomes.values()) == each.entries for each in rows)
        whole = counts.total(found, way)
        assert (whole.entries, whole.downloads, whole.signatures) == (len(ENTRIES), 1201, 4)


def test_an_outcome_reaches_every_model_that_shares_the_signature(found: Joined) -> None:
    whole = counts.total(found, EAGER)
    assert whole.outcomes == {"fallback": 2, "pass": 3, "not_run": 1, "invalid": 1}
    assert (whole.eligible, whole.passed, whole.right) == (6, 3, 5)
    assert counts.total(found, Way("train", "float32")).outcomes == {"error": 2, NOT_PLANNED: 4, "invalid": 1}


def test_a_way_that_the_run_did_not_plan_is_unknown_and_not_a_failure(found: Joined) -> None:
    whole = counts.total(found, Way("compile", "float32"))
    assert whole.outcomes == {NOT_PLANNED: 6, "invalid": 1}
    assert whole.eligible == 0


def test_models_are_found_by_id_outcome_and_architecture_page_by_page(found: Joined) -> None:
    page = listing.listing(found, EAGER, Asked(text="LLAMA"), limit=2)
    assert ([each.id for each in page.rows], page.total, page.after) == (["meta/llama-8b", "meta/Llama-70b"], 4, 1)
    rest = listing.listing(found, EAGER, Asked(text="LLAMA"), after=1)
    assert ([each.place for each in rest.rows], rest.after) == ([2, 5], None)
    assert [each.id for each in listing.listing(found, EAGER, Asked(outcomes=frozenset({"invalid"}))).rows] == [
        "who/mamba9"
    ]
    assert listing.listing(found, EAGER, Asked(architecture="BertModel")).total == 1
    assert listing.listing(found, EAGER, Asked(text="%_\\")).total == 0


def test_an_id_that_is_in_the_catalogue_twice_is_told_twice(store: Store, found: Joined) -> None:
    both = [one.model(store, found, place) for place in listing.places_of(found.table, "meta/llama-8b")]
    assert [(each.place, each.signature, each.came[0].outcome) for each in both] == [
        (0, LLAMA["id"], "fallback"), (5, OTHER["id"], "pass"),
    ]  # fmt: skip


def test_a_model_tells_its_own_values_beside_those_of_the_level_that_was_built(store: Store, found: Joined) -> None:
    model = one.model(store, found, 0)
    assert (model.level, model.shared, model.values) == ("small", 2, 4)
    assert {each.path: (each.full, each.reduced) for each in model.reduction} == {
        "hidden_size": (8192, 64), "num_hidden_layers": (32, 2), "text_config.vocab_size": (128_000, 512),
        "layer_types": (["a"] * 32, ["a"] * 4),
    }  # fmt: skip
    eager, train = model.came
    assert (eager.outcome, eager.fallback_ops, eager.seconds["build"]) == (
        "fallback",
        ("aten::histc", "aten::sort"),
        0.5,
    )
    assert (train.outcome, train.message, train.level) == ("error", "no backward for aten::foo", "")
    shown = "\n".join(model.not_shown)
    assert all(each in shown for each in ("memory", "depth", "weights", "simulated", "audio", "mode compile"))
    assert "mode train" not in shown


def test_a_synthesised_configuration_and_a_refusal_say_so(store: Store, found: Joined) -> None:
    assert any("synthesised" in each for each in one.model(store, found, 4).not_shown)
    no = one.model(store, found, 6)
    assert (no.signature, no.rule, no.why, no.reduction) == ("", "unknown-model-type", NO["reason"], [])
    assert [each.outcome for each in no.came] == ["invalid", "invalid"]
    assert no.not_shown == ["anything about the device: nothing of this model was run"]


def test_an_unknown_id_has_near_names(found: Joined) -> None:
    assert listing.near(found.table, "meta/llama-9b")[0] == "meta/llama-8b"
    assert listing.near(found.table, "other/bert") == ["google/bert"]
    assert listing.near(found.table, "\0\u202e") == []


def test_coverage_asks_of_each_architecture_the_signature_with_most_downloads(store: Store, found: Joined) -> None:
    made = coverage.coverage(store, found, "float32")
    assert [(each.architecture, each.downloads, each.models) for each in made.architectures] == [
        ("LlamaForCausalLM", 171, 4), ("mamba9", 70, 1), ("QwenForCausalLM", 60, 1)
    ]  # fmt: skip
    eager, train, compiled = made.shares
    assert eager.outcomes == {"fallback": 1, "invalid": 1, "not_run": 1}
    assert (eager.eligible, eager.passed, eager.right) == (2, 0, 1)
    assert (train.outcomes, compiled.outcomes) == (
        {"error": 1, "invalid": 1, NOT_PLANNED: 1}, {NOT_PLANNED: 2, "invalid": 1}
    )  # fmt: skip
    assert all(sum(each.outcomes.values()) == each.architectures == 3 for each in made.shares)
    assert [(each.architecture, modes, ended.lacks) for each, modes, ended in coverage.lacking(made)] == [
        ("LlamaForCausalLM", ("eager",), "ran on the CPU: aten::histc, aten::sort"),
        ("LlamaForCausalLM", ("train",), "at compare: no backward for aten::foo"),
        ("mamba9", ("eager", "train", "compile"), NO["reason"]),
        ("QwenForCausalLM", ("eager",), "it was planned, but the run ended first"),
    ]
    assert [each.rank for each in coverage.coverage(store, found, "float32", 2).architectures] == [1, 2]


def test_a_refusal_counts_in_a_run_that_did_not_plan_it(store: Store, tmp_path: Path) -> None:
    path = make_models(tmp_path / "r2", [BERT], ENTRIES[3:4] + ENTRIES[6:], {identity(BERT): Outcome.PASS},
                       refusals=[NO], planned_refusals=False)  # fmt: skip
    ingest(store, path)
    made, _ = joined.required(store, "r2")
    assert counts.total(made, EAGER).outcomes == {"pass": 1, "invalid": 1}
    assert one.model(store, made, 1).why == NO["reason"]


def test_a_run_without_models_and_a_store_without_runs_are_one_sentence(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run with models"):
        joined.required(store, "")
    ingest(store, make_run(tmp_path / "tests", {"a": Outcome.PASS}))
    with pytest.raises(UsageError, match="run tests has no models"):
        joined.required(store, "tests")
