"""Which layers stay: enough that every distinct kind still occurs; what counts or names layers follows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sweeps.reduce.levels import Level
from sweeps.reduce.roles import Role, role_of
from sweeps.reduce.widths import is_count

MOST_KEPT: Final = 8
"""Layers kept of one stack, however many kinds it has."""

_EVERY: Final = re.compile(
    r"interval|_period|sliding_window_pattern|every_n_layers|_step$|cross_attention_frequency|layer_freq|insert_layer"
)
_OF_A_KIND: Final = re.compile(r"att.*(layers?|block|ind|idx)|(mlp_only|moe|dense|sparse)_layers?$")
"""Lists with the numbers of the layers that are of another kind than the rest."""
_LEADING: Final = frozenset({"first_k_dense_replace", "num_dense_layers", "n_dense_layers"})
"""How many layers come before the first with experts; lists with an element a layer tell the same, where there are."""
_LED: Final = 1

_KINDS: Final = re.compile(r"block_types?$|pattern$|layer_types?$|_types$")
_STAGED: Final = frozenset(
    {
        "depths", "num_blocks", "layer_depths", "num_layers", "depth", "encoder_depths", "num_hidden_layers",
        "blocks_per_stage", "stage_numb_of_blocks", "num_blocks_repeat", "layers",
    }
)  # fmt: skip
"""Lists with a number of blocks for each stage."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """Layers that one field counts: how many there were, which are kept.

    `lists` are fields with an element a layer, `members` those with the numbers of layers of one kind.
    """

    field: str
    before: int
    kept: tuple[int, ...]
    lists: frozenset[str]
    members: frozenset[str] = frozenset()

    def renumbered(self, numbers: Sequence[int]) -> list[int]:
        """Layers of one kind under their new numbers."""
        return [place for place, at in enumerate(self.kept) if at in numbers]


def staged(node: Mapping[str, Any]) -> bool:
    """Whether layers come in stages: then each stage is shortened, and none is left out."""
    return any(_numbers(node.get(name)) for name in _STAGED)


def is_staged(name: str) -> bool:
    """Whether a list counts the blocks of each stage."""
    return name in _STAGED


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(is_count(each) for each in value)


def stacks(node: Mapping[str, Any], level: Level) -> tuple[Stack, ...]:
    """The stacks of a configuration that are too deep for a level."""
    if staged(node):
        return ()
    return tuple(
        _stack(node, name, value, level)
        for name, value in node.items()
        if is_count(value) and value > level.layers and role_of(name) is Role.LAYERS
    )


def _stack(node: Mapping[str, Any], name: str, before: int, level: Level) -> Stack:
    lists = frozenset(
        key for key, value in node.items()
        if isinstance(value, list) and len(value) == before and role_of(key) is not Role.LAYER and key != "stage_names"
    )  # fmt: skip
    members = frozenset(key for key, value in node.items() if _OF_A_KIND.search(key) and _among(value, before))
    wanted = min(max([level.layers, *_wanted(node, before, lists | members)]), before)
    own = before - (node.get("num_kv_shared_layers") or 0)
    kinds = [
        (*(str(node[key][at]) for key in lists), *(str(at in node[key]) for key in members), str(at >= own))
        for at in range(before)
    ]
    kept = _first_of_each(kinds) if lists or members or own < before else []
    rest = (at for at in range(before) if at not in kept)
    while len(kept) < wanted:
        kept.append(next(rest))
    return Stack(field=name, before=before, kept=tuple(sorted(kept)), lists=lists, members=members)


def _among(value: Any, before: int) -> bool:
    """Whether a list holds numbers of some of the layers, not of all."""
    return _numbers(value) and len(set(value)) == len(value) < before and 0 <= min(value) <= max(value) < before


def _first_of_each(kinds: Sequence[tuple[str, ...]]) -> list[int]:
    seen: dict[tuple[str, ...], list[int]] = {}
    for at, kind in enumerate(kinds):
        seen.setdefault(kind, []).append(at)
    # Layers of a hybrid kind share their weights: one alone would share them with none.
    first = [at for kind, places in seen.items() for at in places[: 2 if "hybrid" in kind else 1]]
    return sorted(first)[:MOST_KEPT]


def _wanted(node: Mapping[str, Any], before: int, lists: frozenset[str]) -> list[int]:
    """Numbers of layers that other fields need: a period, a pattern, layers that something is taken from."""
    found = []
    for key, value in node.items():
        if is_count(value) and not lists and 1 < value <= MOST_KEPT and _EVERY.search(key):
            found.append(value)
        elif (
            isinstance(value, list)
            and key not in lists
            and (role_of(key) is Role.LAYER or _is_pattern(key, value, before))
        ):
            found.append(len(value))
        elif key in _LEADING and value:
            found.append(_LED + 1)
    return found


def _is_pattern(key: str, value: list[Any], before: int) -> bool:
    """A list of kinds that repeats over the layers."""
    short = 1 < len(value) <= MOST_KEPT and len(value) < before
    return short and all(isinstance(each, str) for each in value) and bool(_KINDS.search(key))


def moved(numbers: Sequence[int], before: int, after: int) -> list[int]:
    """Numbers of layers for a stack of `after` instead of `before`: in order, the last ones last, distinct if they fit.

    A number equal to the depth means what comes after the last layer.
    """
    top = after if any(each >= before for each in numbers) else after - 1
    distinct = sorted({each for each in numbers if each >= 0})
    if distinct and distinct[-1] < after:
        places = {each: each for each in distinct}
    else:
        places = {each: max(0, top - (len(distinct) - 1 - at)) for at, each in enumerate(distinct)}
    return [places[each] if each >= 0 else max(each, -after) for each in numbers]


def led(name: str, value: int, cut: Sequence[Stack]) -> int | None:
    """Layers before the first with experts, where layers are left out; None for any other field."""
    return min(value, _LED) if name in _LEADING and cut else None


def shortened(blocks: Sequence[int], *, in_turn: bool = False) -> list[int]:
    """Blocks of each stage: one, two in the last; two in each where they are of two kinds in turn."""
    return [min(each, 2 if in_turn or at == len(blocks) - 1 else 1) for at, each in enumerate(blocks)]
