"""What held between the numbers of a configuration and must go on holding: products, sums, sections of a head."""

from collections.abc import Mapping
from typing import Any, Final

from sweeps.reduce.widths import is_count

Tree = dict[str, Any]

WIDTHS: Final = ("hidden_size", "d_model", "n_embd", "embed_dim", "hidden_dim", "dim", "attention_hidden_size")
_HEADS: Final = ("num_attention_heads", "num_heads", "n_head", "n_heads", "encoder_attention_heads", "attention_heads")
SIZES: Final = ("head_dim", "d_kv", "attention_head_dim", "attention_head_size", "kv_channels", "d_head", "head_size")
_STATE: Final = (
    ("mamba_n_heads", "mamba_d_head", "mamba_expand"),
    ("mamba_num_heads", "mamba_head_dim", "expand"),
    ("mamba_num_heads", "mamba_head_dim", "mamba_expand"),
    ("n_mamba_heads", "mamba_headdim", "mamba_expand"),
    ("n_mamba_heads", "mamba_head_dim", "mamba_expand"),
    ("num_heads", "head_dim", "expand"),
)
_STATE_GROUPS: Final = (
    ("n_groups", "mamba_num_heads"), ("mamba_n_groups", "mamba_n_heads"), ("n_groups", "num_heads"),
    ("mamba_ngroups", "n_mamba_heads"), ("n_groups", "n_mamba_heads"),
)  # fmt: skip
_SCALES: Final = ("query_pre_attn_scalar", "query_scale")


def _first(names: tuple[str, ...], node: Mapping[str, Any]) -> str:
    return next((name for name in names if is_count(node.get(name))), "")


def restore(before: Mapping[str, Any], after: Tree) -> None:
    """Mend `after`, in place, where a relation held in `before`."""
    _heads(before, after)
    _latent(before, after)
    _state_space(after)
    _experts(after)
    _scales(before, after)
    _sections(after)


def _heads(before: Mapping[str, Any], after: Tree) -> None:
    """heads * head size == hidden width."""
    heads, size = _first(_HEADS, before), _first(SIZES, before)
    if not heads or not size or "qk_rope_head_dim" in before:
        return
    for width in (name for name in WIDTHS if is_count(before.get(name))):
        if before[heads] * before[size] == before[width] and after[width] % after[heads] == 0:
            after[size] = after[width] // after[heads]
            return


def _latent(before: Mapping[str, Any], after: Tree) -> None:
    """Latent attention: a query head is its part with position and its part without."""
    plain, rotated = after.get("qk_nope_head_dim"), after.get("qk_rope_head_dim")
    if not (is_count(plain) and is_count(rotated)):
        return
    for name in ("qk_head_dim", "head_dim"):
        if not is_count(before.get(name)):
            continue
        if before[name] == before["qk_rope_head_dim"]:
            after[name] = rotated
        elif before[name] == before["qk_rope_head_dim"] + before["qk_nope_head_dim"]:
            after[name] = plain + rotated


def _state_space(after: Tree) -> None:
    """State-space layers: heads * head size == expansion * hidden width, and groups divide heads."""
    width = after.get(_first(WIDTHS, after) or "hidden_size")
    for heads, size, expand in _STATE:
        if not (is_count(after.get(heads)) and is_count(after.get(size)) and after.get(expand) and width):
            continue
        if heads == "num_heads" and ("num_attention_heads" in after or "state_size" not in after):
            continue
        inner = int(after[expand] * width)
        if is_count(after.get("mamba_d_ssm")):
            after["mamba_d_ssm"] = inner
        if after[size] and inner % after[size] == 0:
            after[heads] = inner // after[size]
    for groups, heads in _STATE_GROUPS:
        if is_count(after.get(groups)) and is_count(after.get(heads)) and after[heads] % max(1, after[groups]):
            after[groups] = 2 if after[heads] % 2 == 0 and after[groups] > 1 else 1


def _experts(after: Tree) -> None:
    """Two groups of experts at most, of which one is chosen."""
    if is_count(after.get("topk_group")) and after["topk_group"] > 1:
        after["topk_group"] = 1
    for routed in ("num_experts_per_tok", "moe_topk"):
        if is_count(after.get(routed)):
            after[routed] = max(1, after[routed]) if after[routed] else after[routed]


def _scales(before: Mapping[str, Any], after: Tree) -> None:
    """A scale of queries that was the size of a head."""
    size = _first(SIZES, before)
    for name in _SCALES:
        if size and is_count(before.get(name)) and before[name] == before[size]:
            after[name] = after[size]


def head_size(node: Mapping[str, Any]) -> int | None:
    """The size of a head, as the library takes it; None for a configuration without heads."""
    if is_count(node.get("head_dim")):
        return int(node["head_dim"])
    width, heads = node.get("hidden_size"), node.get("num_attention_heads")
    return width // heads if is_count(width) and is_count(heads) and heads else None


def _sections(after: Tree) -> None:
    """Rotary positions in several dimensions: the sections of a head keep their ratio."""
    size = head_size(after)
    if not size:
        return
    for name in ("rope_parameters", "rope_scaling"):
        if isinstance(after.get(name), dict):
            _resize(after[name], size, after.get("partial_rotary_factor") or 1.0)
    if isinstance(after.get("mrope_section"), list):
        _resize(after, size, after.get("partial_rotary_factor") or 1.0)


def _resize(node: Tree, size: int, share: float) -> None:
    share = node.get("partial_rotary_factor") or share
    for key, value in node.items():
        if isinstance(value, dict) and node.get("rope_type") is None:
            _resize(value, size, share)
        elif key.endswith("mrope_section") and isinstance(value, list) and sum(value):
            half = int(size * share) // 2
            parts = [max(1, each * half // sum(value)) for each in value]
            node[key] = [parts[0] + half - sum(parts), *parts[1:]]
