"""Reduction: a configuration made small enough to run anywhere, with the structure that decides which ops run kept."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from sweeps.reduce.adjust import adjust
from sweeps.reduce.layers import MOST_KEPT, Stack, moved, stacks
from sweeps.reduce.levels import ALIGNED, LADDER, SHALLOW, SMALL, TINY, WHOLE, Level, ladder
from sweeps.reduce.numbers import Node, vocabulary
from sweeps.reduce.relations import Tree, restore
from sweeps.reduce.tokens import Tokens
from sweeps.reduce.widths import Widths, fields, is_count

__all__ = ["ALIGNED", "LADDER", "SHALLOW", "SMALL", "TINY", "VERSION", "WHOLE", "Level", "ladder", "reduce"]

VERSION: Final = 2
"""Part of every signature: raised when the same configuration would come out another."""

_POSITION_FACTOR: Final = 8
"""What a stretched range of positions was made from: an eighth of it, so that stretching goes on having an effect."""


def reduce(config: Mapping[str, Any], level: Level) -> Tree:
    """The configuration at a level; `config` is complete, as `to_dict` of its class gives it, and stays unchanged."""
    if level is WHOLE:
        return deepcopy(dict(config))
    widths = Widths.of(config, level)
    made = _node(config, level, widths, Tokens(size=_vocabulary(config, level)))
    adjust(made)
    return made


def _vocabulary(config: Mapping[str, Any], level: Level) -> int:
    """Tokens that every part of the tree will know."""
    sizes = (value for name, value in fields(config) if name.endswith("vocab_size") and is_count(value) and value > 15)
    return min((vocabulary(each, level.vocabulary) for each in sizes), default=level.vocabulary)


def _node(before: Mapping[str, Any], level: Level, widths: Widths, tokens: Tokens) -> Tree:
    cut = stacks(before, level)
    here = Node(before=before, stacks=cut, level=level, widths=widths, tokens=tokens)
    after: Tree = {}
    for name, value in before.items():
        if name == "per_layer_config" and isinstance(value, Mapping):
            after[name] = _per_layer(value, cut, here)
        elif isinstance(value, Mapping):
            after[name] = _rope(value, level) if "rope" in name else _node(value, level, widths, tokens)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            after[name] = [_node(each, level, widths, tokens) if isinstance(each, Mapping) else each for each in value]
        else:
            after[name] = here.reduced(name, value)
    if level.width is not None:
        restore(before, after)
    _outputs(before, after, cut)
    _pinpoints(after)
    return after


def _pinpoints(after: Tree) -> None:
    """Resolutions that images are cut for: one, a single tile."""
    seeing = after.get("vision_config")
    if isinstance(after.get("image_grid_pinpoints"), list) and isinstance(seeing, dict):
        side = seeing.get("image_size")
        after["image_grid_pinpoints"] = [[side, side]] if isinstance(side, int) else after["image_grid_pinpoints"]


def _per_layer(layers: Mapping[str, Any], cut: tuple[Stack, ...], here: Node) -> Tree:
    """Layers that differ from the rest: those that are kept, under their new numbers."""
    kept = cut[0].kept if cut else range(MOST_KEPT)
    named = {int(number): each for number, each in layers.items()}
    return {
        str(place): _node(named[number], here.level, here.widths, here.tokens)
        for place, number in enumerate(kept) if number in named
    }  # fmt: skip


def _rope(parameters: Mapping[str, Any], level: Level) -> Tree:
    """Rotary parameters stay, but for the range that they were stretched from."""
    made: Tree = {}
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            made[name] = _rope(value, level)
        elif name == "original_max_position_embeddings" and isinstance(value, int | float):
            made[name] = min(int(value), level.positions // _POSITION_FACTOR)
        else:
            made[name] = value
    return made


def _outputs(before: Mapping[str, Any], after: Tree, cut: tuple[Stack, ...]) -> None:
    """Backbones name the stages that they give out; where a stage is a layer, the names follow from the numbers."""
    if not isinstance(before.get("stage_names"), list):
        return
    numbers = before.get("out_indices")
    after.pop("stage_names", None)
    if not cut:
        if after.get("out_features") is not None:
            after.pop("out_indices", None)
        return
    after.pop("out_features", None)
    if isinstance(numbers, list):
        depth = cut[0].before
        whole = [each if each >= 0 else each + depth + 1 for each in numbers]
        after["out_indices"] = moved(whole, depth, len(cut[0].kept))
