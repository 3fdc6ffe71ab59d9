"""Configurations from outside, made safe to build from: bounded, and without anything that loads code or files."""

import math
from collections.abc import Mapping
from typing import Any, Final

from sweeps import floats

DEEPEST: Final = 16
"""Levels of nesting. The deepest configurations of the installed library have five."""
LONGEST_LIST: Final = 100_000
LARGEST: Final = 1 << 40
"""No size of a model comes near; quantities such as `max_position_embeddings` of 10**30 mean "no limit"."""
MOST_LAYERS: Final = 4_096
MOST_ENTRIES: Final = 200_000

CODE: Final = frozenset({"auto_map", "custom_pipelines", "trust_remote_code", "custom_generate"})
"""Names under which a configuration asks for code of its own to be run."""

_DROPPED: Final = frozenset(
    {
        "quantization_config", "compression_config", "hqq_config", "torch_dtype", "dtype", "transformers_version",
        "architectures", "name_or_path", "attn_implementation", "experts_implementation", "transformers_weights",
        "task_specific_params", "generation_config", "pretrained_config", "tokenizer_class", "processor_class",
        "image_processor_type", "unsloth_version", "unsloth_fixed", "use_pretrained_backbone",
        "output_attentions", "output_hidden_states", "return_dict", "torchscript", "finetuning_task",
        "tie_encoder_decoder",
    }
)  # fmt: skip
"""What says nothing about the computation, or would have the library load weights or kernels from elsewhere."""

_STACKS: Final = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers", "depth")


class RefusedConfigError(ValueError):
    """A configuration from which nothing is built; the text is one sentence."""


def cleaned(config: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The configuration without what is never followed, and the names of what was left out, sorted.

    Raises RefusedConfigError for sizes that no model has and for values that JSON does not have.
    """
    left_out: set[str] = set()
    budget = [MOST_ENTRIES]
    return _mapping(config, 1, left_out, budget), tuple(sorted(left_out))


def _mapping(node: Mapping[str, Any], depth: int, left_out: set[str], budget: list[int]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in ((str(key), value) for key, value in node.items()):
        if _unwanted(key):
            left_out.add(key)
        elif key in ("id2label", "label2id"):
            _count_labels(key, value, made)
        else:
            made[key] = _value(key, value, depth + 1, left_out, budget)
    return made


def _unwanted(key: str) -> bool:
    return key in CODE or key in _DROPPED or key.startswith("_")


def _count_labels(key: str, value: Any, made: dict[str, Any]) -> None:
    """Names of labels change nothing but their number."""
    if key == "id2label" and isinstance(value, dict) and value:
        made["num_labels"] = len(value)


def _value(key: str, value: Any, depth: int, left_out: set[str], budget: list[int]) -> Any:
    budget[0] -= 1
    if depth > DEEPEST:
        raise RefusedConfigError(f"it is nested deeper than {DEEPEST} levels at {key!r}")
    if budget[0] < 0:
        raise RefusedConfigError(f"it has more than {MOST_ENTRIES:,} values")
    if isinstance(value, Mapping) and floats.is_written(value):
        return floats.decoded(value)
    if isinstance(value, Mapping):
        return _mapping(value, depth, left_out, budget)
    if isinstance(value, list | tuple):
        if len(value) > LONGEST_LIST:
            raise RefusedConfigError(f"{key} has {len(value):,} elements: at most {LONGEST_LIST:,} are read")
        return [_value(key, each, depth + 1, left_out, budget) for each in value]
    return _plain(key, value)


def _plain(key: str, value: Any) -> Any:
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, int):
        return _bounded(key, value)
    raise RefusedConfigError(f"{key} is a {type(value).__name__}, which JSON does not have")


def _bounded(key: str, value: int) -> int:
    limitless = key.startswith(("max_", "model_max")) or key.endswith("_length")
    if abs(value) > LARGEST and not limitless:
        raise RefusedConfigError(f"{key} is {_short(value)}: no size of a model is beyond {LARGEST:,}")
    if key in _STACKS and value > MOST_LAYERS:
        raise RefusedConfigError(f"{key} is {_short(value)}: at most {MOST_LAYERS:,} layers are read")
    return min(value, LARGEST)


def _short(value: int) -> str:
    return f"{value:,}" if abs(value) < 10**30 else f"a number of {int(math.log10(abs(value))) + 1} digits"
