"""Configurations from outside: bounded, and never followed anywhere."""

from typing import Any

import pytest

from sweeps.floats import decoded, encoded
from sweeps.foreign import DEEPEST, LARGEST, RefusedConfigError, cleaned


def test_what_asks_for_code_or_files_is_left_out_and_named() -> None:
    config = {
        "hidden_size": 64, "auto_map": {"AutoModel": "evil--code"}, "_attn_implementation": "org/kernel",
        "quantization_config": {"bits": 4}, "text_config": {"auto_map": {}, "hidden_size": 32},
    }  # fmt: skip
    safe, left_out = cleaned(config)
    assert safe == {"hidden_size": 64, "text_config": {"hidden_size": 32}}
    assert left_out == ("_attn_implementation", "auto_map", "quantization_config")


def test_a_configuration_that_holds_itself_is_refused() -> None:
    cyclic: dict[str, Any] = {"hidden_size": 64}
    cyclic["text_config"] = cyclic
    with pytest.raises(RefusedConfigError, match=f"deeper than {DEEPEST} levels"):
        cleaned(cyclic)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"hidden_size": 10**50}, "hidden_size is a number of 51 digits"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1,000,000,000: at most 4,096 layers"),
        ({"layer_types": ["x"] * 100_001}, "layer_types has 100,001 elements"),
        ({"widths": [[0] * 90_000] * 3}, "more than 200,000 values"),
        ({"hidden_size": {1, 2}}, "hidden_size is a set, which JSON does not have"),
    ],
)
def test_sizes_that_no_model_has_are_refused_with_the_value(config: dict[str, Any], why: str) -> None:
    with pytest.raises(RefusedConfigError, match=why):
        cleaned(config)


def test_an_infinity_is_a_number_in_either_of_its_written_forms() -> None:
    safe, _ = cleaned({"limits": [0.0, {"__float__": "Infinity"}], "dt": float("inf"), "part": {"__float__": 7}})
    assert safe == {"limits": [0.0, float("inf")], "dt": float("inf"), "part": {}}
    assert decoded(encoded(safe)) == safe
    assert encoded(safe)["dt"] == {"__float__": "Infinity"}


def test_no_limit_on_positions_is_no_refusal() -> None:
    assert cleaned({"max_position_embeddings": 10**30})[0] == {"max_position_embeddings": LARGEST}


def test_names_of_labels_become_their_number() -> None:
    assert cleaned({"id2label": {"0": "a", "1": "b", "2": "c"}, "label2id": {"a": 0}})[0] == {"num_labels": 3}
