"""Signatures: one for models that run alike, the same in every process."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from conformance.outcomes import Outcome
from conformance.plan import Selection
from sweeps import attribution, planning, signature
from sweeps.catalogue import Entry
from sweeps.planning import Gathered
from sweeps.running import quiet


def gathered(*entries: Entry) -> Gathered:
    made = Gathered()
    with quiet():
        for each in entries:
            made.take(each)
    return made


def test_models_that_differ_in_what_is_reduced_share_a_signature() -> None:
    dims = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8}
    deeper = {**dims, "num_hidden_layers": 80, "vocab_size": 128_256}
    plain = {**dims, "num_key_value_heads": 32}
    made = gathered(*(
        Entry(id=name, model_type="llama", architecture="LlamaForCausalLM", dims=each)
        for name, each in (("a/small", dims), ("b/deep", deeper), ("c/plain", plain))
    ))  # fmt: skip
    small, deep, multi_head = (each.signature for each in made.attributed)
    assert small == deep != multi_head
    assert {each.origin for each in made.attributed} == {"dims"}


def test_an_entry_may_ask_for_heads_as_wide_as_they_were() -> None:
    dims = {"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32}
    plain = Entry(id="a", model_type="llama", architecture="LlamaForCausalLM", dims=dims)
    made = gathered(plain, msgspec.structs.replace(plain, id="b", reduction="aligned"))
    small, aligned = made.signatures.values()
    assert (small.level, aligned.level) == ("tiny", "aligned")
    assert (small.reduced["head_dim"], aligned.reduced["head_dim"]) == (16, 128)
    assert [each.signature for each in made.attributed] == [small.id, aligned.id]
    (refused,) = gathered(msgspec.structs.replace(plain, reduction="wide")).invalid.values()
    assert refused.decided is not None
    assert refused.decided.reason == "its reduction 'wide' is none: leave it out, or ask for 'aligned'"


def test_dimensions_that_do_not_go_together_are_left_out_and_named() -> None:
    dims = {"hidden_size": 1792, "num_hidden_layers": 38, "num_attention_heads": 27, "vocab_size": 32_000}
    made = gathered(Entry(id="a", model_type="llama", architecture="LlamaForCausalLM", dims=dims))
    (found,) = made.signatures.values()
    assert "num_attention_heads" in found.left_out
    assert (found.full["hidden_size"], found.full["vocab_size"]) == (1792, 32_000)


def test_a_new_depth_goes_on_in_the_pattern_of_the_old_one() -> None:
    made = gathered(
        Entry(id="a", model_type="zamba2", architecture="Zamba2ForCausalLM", dims={"num_hidden_layers": 81})
    )
    (found,) = made.signatures.values()
    assert not found.left_out
    assert (found.full["num_hidden_layers"], len(found.full["layers_block_type"])) == (81, 81)
    assert set(found.reduced["layers_block_type"]) == set(found.full["layers_block_type"])


@pytest.mark.parametrize(
    ("model_type", "has_config", "ends_as"), [("qwen3_5_text", False, "qwen3_5"), ("qwen3_5_text", True, "")]
)
def test_a_class_of_another_type_of_the_family_is_taken_with_its_own_type(
    model_type: str, has_config: bool, ends_as: str
) -> None:
    config = {"model_type": model_type} if has_config else None
    entry = Entry(id="a", model_type=model_type, architecture="Qwen3_5ForConditionalGeneration", config=config)
    made = gathered(entry)
    assert [each.model_type for each in made.signatures.values()] == ([ends_as] if ends_as else [])


def test_flags_that_choose_ops_make_another_signature() -> None:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    changes = [{}, {"tie_word_embeddings": True}, {"hidden_act": "gelu"}, {"attention_bias": True},
               {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}}]  # fmt: skip
    made = gathered(*(Entry(id=str(at), config={**config, **each}) for at, each in enumerate(changes)))
    assert len(made.signatures) == len(changes)
    tokens = gathered(Entry(id="x", config=config), Entry(id="y", config={**config, "eos_token_id": 128_001}))
    assert len(tokens.signatures) == 1


@pytest.mark.slow
def test_a_signature_is_the_same_in_another_process() -> None:
    entry = Entry(id="a", model_type="qwen3_vl", architecture="Qwen3VLForConditionalGeneration")
    (here,) = gathered(entry).signatures
    script = (
        "from tests.sweeps.test_signature import gathered; from sweeps.catalogue import Entry;"
        f"print(*gathered(Entry(id='a', model_type={entry.model_type!r}, architecture={entry.architecture!r}))"
        ".signatures)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
        env={"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "77", "HF_HUB_OFFLINE": "1", "HOME": "/nonexistent"},
    )  # fmt: skip
    assert done.stdout.strip() == here


@pytest.mark.parametrize(
    ("entry", "rule", "words"),
    [
        (Entry(id="a", model_type="nosuch"), "unknown-model-type", "has no model type 'nosuch'"),
        (Entry(id="a", architecture="NoSuchModel"), "unknown-model-type", "has no class 'NoSuchModel'"),
        (Entry(id="a"), "unknown-model-type", "neither a model type nor a class"),
        (Entry(id="a", model_type="llama", architecture="BertModel"), "unknown-architecture", "no class 'BertModel'"),
        (Entry(id="a", config={"model_type": "evil", "auto_map": {"AutoModel": "x--y"}}), "remote-code", "never run"),
        (Entry(id="a", config={"model_type": "llama", "hidden_size": "wide"}), "config-refused", "hidden_size"),
        (Entry(id="a", config={"model_type": "llama", "hidden_size": 10**40}), "config-refused", "41 digits"),
        (Entry(id="a", config={"model_type": "llama", "num_attention_heads": 0}), "config-refused", "ZeroDivision"),
        (Entry(id="a", config={"model_type": ["llama"]}), "unknown-model-type", "neither"),
        (Entry(id="a", config={}), "unknown-model-type", "neither"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_planned_is_one_invalid_test_with_its_reason(entry: Entry, rule: str, words: str) -> None:
    made = gathered(entry)
    assert not made.signatures
    (test,) = made.invalid.values()
    assert test.decided is not None
    assert (test.decided.outcome, test.decided.rule) == (Outcome.INVALID, rule)
    assert words in test.decided.reason
    assert "\n" not in test.decided.reason
    assert [(each.id, each.invalid) for each in made.attributed] == [("a", test.key)]


def test_configurations_nested_beyond_python_cost_one_sentence() -> None:
    deep: dict[str, object] = {}
    for _ in range(5_000):
        deep = {"text_config": deep}
    (test,) = gathered(Entry(id="a", config={"model_type": "llama", **deep})).invalid.values()
    assert test.decided is not None
    assert "nested" in test.decided.reason


def test_every_entry_of_a_catalogue_ends_somewhere(tmp_path: Path) -> None:
    path = tmp_path / "models.jsonl"
    path.write_text('{"id":"a","model_type":"bert"}\n{"id":"b","model_type":"bert"}\n{"id":"c","model_type":"x"}\nno\n')
    folder = tmp_path / "models"
    with quiet():
        tests = list(planning.collect(Selection(suites=("models",), catalogue=str(path)), "cpu", "installed", folder))
    keys = {each.key for each in tests}
    lines = (folder / attribution.ATTRIBUTION).read_bytes().splitlines()
    assert len(lines) == 4
    (bert,) = signature.read(folder / planning.SIGNATURES)
    assert [each.id.kind for each in tests] == ["eager", "invalid", "invalid"]
    assert planning.identity(bert, "eager", "float32").key in keys
