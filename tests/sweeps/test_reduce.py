"""Reduction: small, and with the structure that decides which ops run."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps import architectures, configs
from sweeps.reduce import ALIGNED, SHALLOW, SMALL, TINY, WHOLE, reduce
from sweeps.reduce.layers import MOST_KEPT, moved
from sweeps.reduce.roles import Role, role_of
from sweeps.reduce.widths import fields, is_count

_HEADS = st.sampled_from([1, 2, 4, 8, 12, 16, 28, 32, 64, 96, 128])


@st.composite
def decoders(draw: st.DrawFn) -> dict[str, Any]:
    """Configurations of decoders: multi-head, grouped or multi-query, of any depth and pattern."""
    heads, size = draw(_HEADS), draw(st.sampled_from([32, 64, 80, 96, 128, 256]))
    kv = draw(st.sampled_from([each for each in range(1, heads + 1) if heads % each == 0]))
    depth = draw(st.integers(1, 96))
    kinds = draw(st.lists(st.sampled_from("abcd"), min_size=depth, max_size=depth))
    return {
        "hidden_size": heads * size, "intermediate_size": draw(st.integers(64, 60_000)), "num_hidden_layers": depth,
        "num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": size, "layer_types": kinds,
        "vocab_size": draw(st.integers(600, 300_000)), "sliding_window": draw(st.sampled_from([None, 128, 4096])),
        "num_experts": draw(st.sampled_from([0, 8, 256])), "num_experts_per_tok": draw(st.integers(1, 8)),
        "attention_dropout": draw(st.sampled_from([0.0, 0.1])), "rms_norm_eps": 1e-6, "hidden_act": "silu",
    }  # fmt: skip


@given(decoders(), st.sampled_from((TINY, SMALL, SHALLOW)))
def test_a_reduced_decoder_keeps_its_class_of_attention_and_every_kind_of_layer(
    config: dict[str, Any], level: Any
) -> None:
    made = reduce(config, level)
    heads, kv = made["num_attention_heads"], made["num_key_value_heads"]
    assert heads % kv == 0
    assert (kv == 1, kv == heads) == (config["num_key_value_heads"] == 1, kv == heads)
    if config["num_key_value_heads"] == config["num_attention_heads"]:
        assert kv == heads
    assert made["hidden_size"] == heads * made["head_dim"]
    assert set(made["layer_types"]) == set(config["layer_types"])
    assert len(made["layer_types"]) == made["num_hidden_layers"] <= MOST_KEPT
    assert made["attention_dropout"] == 0.0
    assert (made["rms_norm_eps"], made["hidden_act"]) == (1e-6, "silu")
    assert made["sliding_window"] in (None, 8)


@given(decoders())
def test_aligned_heads_are_as_wide_as_they_were(config: dict[str, Any]) -> None:
    made = reduce(config, ALIGNED)
    heads, kv = made["num_attention_heads"], made["num_key_value_heads"]
    assert made["hidden_size"] <= max(512, 128 + config["hidden_size"] // 2)
    assert heads % kv == 0
    assert (heads == kv) >= (config["num_attention_heads"] == config["num_key_value_heads"])
    if made["hidden_size"] % config["head_dim"] == 0:
        assert (made["head_dim"], heads) == (config["head_dim"], made["hidden_size"] // config["head_dim"])


@pytest.mark.parametrize(("model_type", "size"), [("llama", 128), ("bert", 64), ("gemma3_text", 256), ("t5", 64)])
def test_the_aligned_level_keeps_the_head_size_of_a_model(model_type: str, size: int) -> None:
    made = reduce(configs.of_defaults(model_type), ALIGNED)
    width = made.get("hidden_size", made.get("d_model"))
    assert 256 <= width <= 512
    assert made.get("head_dim", made.get("d_kv", width // made.get("num_attention_heads", 1))) == size


def test_layers_of_one_kind_are_named_by_their_new_numbers() -> None:
    made = reduce({"num_hidden_layers": 32, "attn_layer_indices": [9, 18, 27]}, TINY)
    assert made == {"num_hidden_layers": 2, "attn_layer_indices": [1]}
    dense = reduce({"num_hidden_layers": 61, "first_k_dense_replace": 3}, TINY)
    assert dense == {"num_hidden_layers": 2, "first_k_dense_replace": 1}


def test_windows_of_stages_shrink_with_their_image_and_come_in_twos() -> None:
    made = reduce({"image_size": 224, "patch_size": 4, "depths": [2, 2, 18, 2], "window_size": 7}, TINY)
    assert made == {"image_size": 64, "patch_size": 4, "depths": [2, 2, 2, 2], "window_size": 2}


@given(decoders())
def test_reduction_is_a_function_of_the_configuration_alone(config: dict[str, Any]) -> None:
    before = repr(config)
    assert reduce(config, TINY) == reduce(config, TINY)
    assert repr(config) == before


@given(st.lists(st.integers(33, 20_000), min_size=2, max_size=20, unique=True))
def test_widths_that_were_equal_or_ordered_stay_so_across_parts(widths: list[int]) -> None:
    tree = {f"part_{at}_config": {"hidden_size": width, "ffn_dim": width} for at, width in enumerate(widths)}
    made = reduce(tree, TINY)
    by_width = {width: made[f"part_{at}_config"] for at, width in enumerate(widths)}
    assert all(part["hidden_size"] == part["ffn_dim"] for part in by_width.values())
    found = [by_width[width]["hidden_size"] for width in sorted(widths)]
    assert found == sorted(found)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6, unique=True).map(sorted), st.integers(6, 8))
def test_layers_that_something_is_taken_from_stay_in_order_and_inside(numbers: list[int], after: int) -> None:
    made = moved(numbers, 40, after)
    assert made == sorted(set(made))
    assert 0 <= made[0] <= made[-1] <= (after if numbers[-1] == 40 else after - 1)


def test_special_tokens_stay_distinct_and_inside_the_vocabulary() -> None:
    tokens = {f"{name}_token_id": 151_640 + at for at, name in enumerate(("image", "video", "audio", "pad", "bos"))}
    made = reduce({"vocab_size": 151_936, **tokens}, TINY)
    found = [made[name] for name in tokens]
    assert len(set(found)) == len(found)
    assert max(found) < made["vocab_size"] == 512


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("num_hidden_layers", Role.LAYERS), ("n_layer", Role.LAYERS), ("num_conv_layers", Role.KEPT),
        ("num_key_value_heads", Role.KV_HEADS), ("num_attention_heads", Role.HEADS), ("head_dim", Role.HEAD_SIZE),
        ("n_routed_experts", Role.EXPERTS), ("n_shared_experts", Role.KEPT), ("num_experts_per_tok", Role.ROUTED),
        ("vocab_size", Role.VOCABULARY), ("image_token_id", Role.TOKEN), ("sliding_window", Role.WINDOW),
        ("max_position_embeddings", Role.POSITIONS), ("out_indices", Role.LAYER), ("image_size", Role.IMAGE),
        ("conv_kernel", Role.KEPT), ("intermediate_size", Role.WIDTH), ("hidden_act", Role.WIDTH),
        ("rope_theta", Role.KEPT), ("attention_dropout", Role.DROPOUT),
    ],
)  # fmt: skip
def test_the_name_of_a_field_tells_its_role(name: str, role: Role) -> None:
    assert role_of(name) is role


@pytest.mark.slow
def test_defaults_of_nearly_every_model_type_reduce_to_a_configuration_that_the_library_takes() -> None:
    refused, large = {}, {}
    for model_type in architectures.model_types():
        try:
            made = configs.completed(model_type, reduce(configs.of_defaults(model_type), TINY))
        except configs.RefusedConfigError as error:
            refused[model_type] = str(error)
        else:
            widest = max((v for k, v in fields(made) if is_count(v) and role_of(k) is Role.VOCABULARY), default=0)
            large |= {model_type: widest} if widest > TINY.vocabulary else {}
    assert [each for each, why in refused.items() if "timm" not in why] == []
    assert large == {}


def test_the_ladder_grows() -> None:
    config = configs.of_defaults("llama")
    widths = [reduce(config, level)["hidden_size"] for level in (TINY, SMALL, SHALLOW)]
    assert widths == [64, 256, 4096]
    assert reduce(config, WHOLE) == config


def test_layers_that_share_keys_and_values_go_on_sharing_them() -> None:
    kinds = ["sliding", "sliding", "full"] * 10
    made = reduce({"num_hidden_layers": 30, "layer_types": kinds, "num_kv_shared_layers": 10}, TINY)
    assert made["num_kv_shared_layers"] == 2
    assert set(made["layer_types"][:-2]) == set(made["layer_types"][-2:]) == {"sliding", "full"}
