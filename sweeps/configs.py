"""The complete configuration of an entry: its own, or the library's defaults with its dimensions put in."""

import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Final

from transformers.configuration_utils import PreTrainedConfig

from sweeps import foreign
from sweeps.architectures import config_class
from sweeps.foreign import RefusedConfigError
from sweeps.reduce.roles import Role, role_of

Tree = dict[str, Any]

_COMPLETION: Final = Path(__file__).parent / "data" / "completion.toml"
_ALWAYS: Final = frozenset(
    {
        "model_type", "out_features", "out_indices", "stage_names", "per_layer_config", "rope_parameters",
        "is_encoder_decoder", "head_dim", "qk_head_dim", "encoder", "decoder", "num_labels", "backbone_config",
    }
)  # fmt: skip
"""Fields that configuration classes take without declaring them."""

_GENERATION: Final = ("bos_token_id", "eos_token_id", "sep_token_id")
"""Tokens that only generation reads: a model's own would keep it apart from others that run alike."""

_LEFT_OUT: Final[tuple[tuple[str, ...], ...]] = (
    (), ("num_hidden_layers",), ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim"),
)  # fmt: skip
_ASSIGNED: Final = re.compile(r"self\.(\w+)\s*(?::[^=\n]+)?=[^=]")
_PLACEHOLDER: Final = re.compile(r"(image|video|audio|speech|vision_start|vision_end)_token_(id|index)")
_JOINTS: Final = (("vision_config", "out_hidden_size"), ("audio_config", "output_dim"), ("vision_config", "output_dim"))
"""Widths in which other towers give their features to the language model; class defaults leave some apart."""

_TEXT: Final = ("text_config", "llm_config", "language_config", "thinker_config", "decoder", "text_encoder_config")
_DIMS: Final[Mapping[str, tuple[str, ...]]] = {
    "num_hidden_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers"),
    "num_attention_heads": ("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads"),
    "num_key_value_heads": ("num_key_value_heads", "num_kv_heads", "n_kv_heads"),
    "head_dim": ("head_dim", "d_kv"),
    "hidden_size": ("hidden_size", "n_embd", "d_model", "dim"),
    "vocab_size": ("vocab_size", "n_vocab"),
    "shared_expert_intermediate_size": ("shared_expert_intermediate_size",),
}
"""Dimensions of the shipped catalogue by the names that configurations give them."""


@cache
def completion() -> Mapping[str, Tree]:
    """What class defaults lack to be a model, by model type; a real configuration has it."""
    return tomllib.loads(_COMPLETION.read_text())


def of_config(model_type: str, config: Mapping[str, Any]) -> tuple[Tree, tuple[str, ...]]:
    """A configuration from outside made complete, and what was left out of it. Raises RefusedConfigError."""
    safe, left_out = foreign.cleaned(config)
    return completed(model_type, _without_generation({**safe, "model_type": model_type})), left_out


def _without_generation(tree: Tree) -> Tree:
    return {
        key: _without_generation(value) if isinstance(value, dict) else value
        for key, value in tree.items()
        if key not in _GENERATION
    }


@cache
def _defaults(model_type: str) -> Tree:
    tree = completed(model_type, completion().get(model_type, {}))
    _fill(tree)
    return tree


def _fill(tree: Tree) -> None:
    """Put in, in place, what class defaults leave open and configurations from the Hub tell."""
    for value in tree.values():
        if isinstance(value, dict):
            _fill(value)
    for part, field in _JOINTS:
        if isinstance(tree.get(part), dict) and isinstance(tree[part].get(field), int) and "text_config" in tree:
            tree[part][field] = _text_node(tree).get("hidden_size", tree[part][field])
    width, heads = tree.get("hidden_size"), tree.get("num_attention_heads")
    if "head_dim" in tree and tree["head_dim"] is None and isinstance(width, int) and isinstance(heads, int) and heads:
        tree["head_dim"] = width // heads
    if "num_key_value_heads" in tree and tree["num_key_value_heads"] is None:
        tree["num_key_value_heads"] = heads
    for name in (name for name in tree if role_of(name) is Role.ROUTED):
        tree[name] = 2 if tree[name] is None else tree[name]
    size = _text_node(tree).get("vocab_size")
    for at, name in enumerate(name for name in tree if _PLACEHOLDER.fullmatch(name)):
        if tree[name] is None and isinstance(size, int) and size > at + 4:
            tree[name] = size - 4 - at


def of_defaults(model_type: str) -> Tree:
    """The library's defaults for a model type. Raises RefusedConfigError where they are no configuration."""
    return deepcopy(_defaults(model_type))


def of_dims(model_type: str, dims: Mapping[str, Any]) -> tuple[Tree, tuple[str, ...]]:
    """The library's defaults with known dimensions in their place, and the names of dimensions that were left out.

    Left out are, as the configuration needs it, the depth, then the heads: a class may tie them to lists that the
    dimensions do not tell. Raises RefusedConfigError where nothing of that helps.
    """
    safe, _ = foreign.cleaned(dims)
    sizes = {name: value for name, value in safe.items() if isinstance(value, int) and value > 0}
    refused: RefusedConfigError | None = None
    for without in _LEFT_OUT:
        try:
            return _synthesised(model_type, {k: v for k, v in sizes.items() if k not in without}), without
        except RefusedConfigError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _synthesised(model_type: str, sizes: Mapping[str, int]) -> Tree:
    tree = of_defaults(model_type)
    node = _text_node(tree)
    for name, value in sizes.items():
        _put(node, name, value)
    _fill(tree)
    return completed(model_type, tree)


def _text_node(tree: Tree) -> Tree:
    """The part of a tree that dimensions speak of: the language model's."""
    for name in _TEXT:
        if isinstance(tree.get(name), dict):
            return _text_node(tree[name])
    return tree


def _put(node: Tree, name: str, value: int) -> None:
    """Set a dimension under the configuration's own name; one that it does not have is passed over.

    Lists with an element a layer go on in their pattern, or end sooner.
    """
    field = next((each for each in _names(name, node) if each in node), None)
    if field is None:
        return
    depth = node[field]
    if role_of(field) is Role.LAYERS and isinstance(depth, int) and depth != value <= foreign.MOST_LAYERS:
        for key, each in node.items():
            if isinstance(each, list) and len(each) == depth:
                node[key] = (each * (value // depth + 1))[:value]
    node[field] = value


def _names(name: str, node: Tree) -> tuple[str, ...]:
    experts = tuple(key for key in node if role_of(key) is Role.EXPERTS)
    routed = tuple(key for key in node if role_of(key) is Role.ROUTED)
    if name == "moe_intermediate_size":
        # The catalogue's word for the width of any feed-forward layer.
        return ("moe_intermediate_size", "intermediate_size", "ffn_dim", "n_inner", "d_ff")
    if name == "head_dim" and "qk_rope_head_dim" in node:
        # Heads of latent attention have parts; the catalogue's number is of none of them.
        return ()
    return {"num_experts": experts, "active_experts": routed}.get(name, _DIMS.get(name, ()))


def completed(model_type: str, config: Mapping[str, Any]) -> Tree:
    """Every field of a configuration as its class gives it, without what it derived. Raises RefusedConfigError."""
    made = build(model_type, config)
    tree, _ = foreign.cleaned(made.to_dict())
    return declared(type(made), tree)


def build(model_type: str, config: Mapping[str, Any]) -> Any:
    """The configuration object. Raises RefusedConfigError with what the library says about it."""
    try:
        cls = config_class(model_type)
        with _unprinted():
            return cls.from_dict({key: deepcopy(value) for key, value in config.items() if not _is_method(cls, key)})
    except Exception as error:
        raise RefusedConfigError(f"the library refuses it: {sentence(error)}") from error


@contextmanager
def _unprinted() -> Iterator[None]:
    """The library prints each configuration for a line of its log, seen or not: nine tenths of making one."""
    before = PreTrainedConfig.__repr__
    PreTrainedConfig.__repr__ = object.__repr__
    try:
        yield
    finally:
        PreTrainedConfig.__repr__ = before


def _is_method(cls: type, name: str) -> bool:
    return callable(getattr(cls, name, None)) and name not in getattr(cls, "__dataclass_fields__", {})


def sentence(error: BaseException) -> str:
    """An exception as one line of at most 300 characters."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def declared(cls: type, tree: Mapping[str, Any]) -> Tree:
    """A configuration without what its class derives from the rest, its parts likewise: it is derived anew."""
    derived = _derived(cls)
    subs: Mapping[str, Any] = getattr(cls, "sub_configs", None) or {}
    made: Tree = {}
    for key, value in tree.items():
        if key in subs and isinstance(value, dict):
            made[key] = declared(_sub_class(subs[key], value), value)
        elif key in subs or key not in derived:
            made[key] = value
    return made


@cache
def _derived(cls: type) -> frozenset[str]:
    """Names that a class sets on itself while it is made, without declaring them as fields."""
    found: set[str] = set()
    for each in cls.__mro__:
        if each.__name__ == "PreTrainedConfig":
            break
        for name in ("__post_init__", "__init__"):
            method = each.__dict__.get(name)
            found |= set(_ASSIGNED.findall(_source(method))) if method else set()
    mapped: Mapping[str, str] = getattr(cls, "attribute_map", None) or {}
    fields = getattr(cls, "__dataclass_fields__", None)
    return frozenset(found - {*(fields or ()), *mapped, *mapped.values(), *_ALWAYS})


def _source(method: Any) -> str:
    try:
        return inspect.getsource(method)
    except (OSError, TypeError):
        return ""


def _sub_class(known: Any, value: Mapping[str, Any]) -> type:
    from transformers import CONFIG_MAPPING

    model_type = value.get("model_type")
    if isinstance(model_type, str) and model_type in CONFIG_MAPPING:
        return CONFIG_MAPPING[model_type]  # type: ignore[no-any-return]
    return known if isinstance(known, type) else object
