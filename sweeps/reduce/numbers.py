"""One number or list of a configuration made smaller, by the role of its field."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sweeps.reduce import layers
from sweeps.reduce.levels import WINDOW, Level
from sweeps.reduce.relations import SIZES, WIDTHS
from sweeps.reduce.roles import Role, is_hidden, role_of
from sweeps.reduce.tokens import Tokens
from sweeps.reduce.widths import Widths, is_count

_FEW_QUERIES: Final = 16
_HEADS: Final = ("num_attention_heads", "num_heads", "n_head", "n_heads", "encoder_attention_heads", "attention_heads")


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A configuration inside the tree, as it was; `stacks` are the layers that are cut."""

    before: Mapping[str, Any]
    stacks: tuple[layers.Stack, ...]
    level: Level
    widths: Widths
    tokens: Tokens

    @property
    def depth(self) -> tuple[int, int] | None:
        """Layers of the deepest stack, before and after; of the part that sees where there is none here."""
        seeing = self.before.get("vision_config")
        cut = self.stacks or (layers.stacks(seeing, self.level) if isinstance(seeing, Mapping) else ())
        deepest = max(cut, key=lambda each: each.before, default=None)
        return None if deepest is None else (deepest.before, len(deepest.kept))

    def reduced(self, name: str, value: Any) -> Any:
        """The value of a field in the reduced configuration; what is neither number nor list stays."""
        for stack in self.stacks:
            if name == stack.field:
                return len(stack.kept)
            if name == "num_kv_shared_layers" and is_count(value):
                return sum(at >= stack.before - value for at in stack.kept)
            if name in stack.members:
                return stack.renumbered(value)
            if name in stack.lists:
                return self._chosen([value[at] for at in stack.kept])
        if is_count(value):
            return self._counted(name, value)
        if isinstance(value, list):
            return self.listed(name, value)
        if isinstance(value, float) and role_of(name) is Role.DROPOUT:
            return 0.0
        return value

    def _counted(self, name: str, value: int) -> int:
        led = layers.led(name, value, self.stacks)
        side = self.before.get("image_size", self.before.get("spec_size"))
        side = side[0] if isinstance(side, list) and side else side
        if led is not None:
            return led
        if name == "window_size" and is_count(side) and side and layers.staged(self.before):
            # As many windows as there were: with fewer, the last stages would be smaller than one.
            return max(2, value * self._image(side) // side)
        return self.number(name, value)

    def _chosen(self, values: list[Any]) -> list[Any]:
        sizes = all(is_count(each) for each in values) and any(each > 64 for each in values)
        return [self.widths.width(each) for each in values] if sizes else values

    def number(self, name: str, value: int) -> int:
        """One number."""
        role = role_of(name)
        match role:
            case Role.WIDTH:
                return self.widths.hidden(value) if is_hidden(name) else self.widths.width(value)
            case Role.HEADS | Role.KV_HEADS | Role.HEAD_SIZE:
                return self._attention(role, name, value)
            case Role.TOKEN:
                return self.tokens.moved(value) if value >= 0 else value
            case Role.IMAGE:
                return self._image(value)
            case Role.LAYER:
                return layers.moved([value], *self.depth)[0] if self.depth else value
            case Role.VOCABULARY if name.endswith("vocab_size"):
                return vocabulary(value, self.level.vocabulary)
            case _:
                return self._count(role, value)

    def _count(self, role: Role, value: int) -> int:
        most = {
            Role.QUERIES: _FEW_QUERIES, Role.VOCABULARY: self.level.vocabulary, Role.ROUTED: 2, Role.GROUPS: 2,
            Role.EXPERTS: self.level.experts, Role.WINDOW: WINDOW, Role.POSITIONS: self.level.positions,
        }.get(role)  # fmt: skip
        return value if most is None else min(value, most)

    def _attention(self, role: Role, name: str, value: int) -> int:
        if self.level.heads is None:
            return value
        if role is Role.HEADS:
            return self._query(value)
        if role is Role.HEAD_SIZE:
            return (
                value
                if self.level.whole_heads or value <= 16
                else min(8, value)
                if name == "rotary_dim"
                else small_head(value)
            )
        return self._kv_heads(name, value)

    def _query(self, value: int) -> int:
        """Query heads: a few, or as many whole ones as the hidden width has room for where they filled it."""
        assert self.level.heads is not None
        few = few_heads(value, self.level.heads)
        width = next((each for name in WIDTHS if is_count(each := self.before.get(name))), 0)
        size = next((each for name in SIZES if is_count(each := self.before.get(name))), width // max(1, value))
        if not self.level.whole_heads or not size or size * value != width:
            return few
        room = self.widths.hidden(width) // size
        return max(1, next((each for each in range(room, 0, -1) if self.widths.hidden(width) % each == 0), few))

    def _kv_heads(self, name: str, value: int) -> int:
        """Multi-query stays multi-query, multi-head multi-head; grouped means half as many as query heads."""
        assert self.level.heads is not None
        heads = self._query_heads(name)
        if value == 1 or heads is None:
            return min(value, self.level.heads)
        query = self._query(heads)
        return query if value == heads else max(1, min(value, query // 2))

    def _query_heads(self, name: str) -> int | None:
        beside = name.replace("key_value_heads", "attention_heads").replace("kv_heads", "heads")
        for each in (beside, *_HEADS):
            found = self.before.get(each)
            if each != name and is_count(found):
                return found
        return None

    def _image(self, value: int) -> int:
        """A few patches each way; images of stages are halved four times and more."""
        if value < 96 or (self.level.width is None and value <= 256):
            return value
        patch = self.before.get("patch_size", 16)
        patch = patch[0] if isinstance(patch, list) and patch else patch
        if not is_count(patch) or layers.staged(self.before) or patch <= 2 or "hidden_sizes" in self.before:
            return 64
        return max(patch * (4 if patch <= 16 else 2), 32)

    def listed(self, name: str, values: list[Any]) -> list[Any]:
        """A list of numbers, or of lists of them; any other stays."""
        if values and all(is_count(each) for each in values):
            return self._numbers(name, values)
        if role_of(name) is Role.WIDTH and values and all(isinstance(each, list) for each in values):
            return [self.listed(name, each) for each in values]
        return values

    def _numbers(self, name: str, values: list[int]) -> list[int]:
        role = role_of(name)
        if layers.is_staged(name):
            return layers.shortened(values, in_turn="window_size" in self.before)
        if role is Role.LAYER:
            return layers.moved(values, *self.depth) if self.depth else values
        if role in (Role.TOKEN, Role.IMAGE) or (role is Role.WIDTH and max(values) >= 48):
            return [self.number(name, each) for each in values]
        if role is Role.HEADS and self.level.heads is not None:
            return [few_heads(each, self.level.heads) for each in values]
        return values


def vocabulary(value: int, most: int) -> int:
    """Small vocabularies, of letters, become the next power of two: some letters more make no other model."""
    if value <= 0:
        # No size: what stands in a configuration is not mended, so that the library says what is wrong with it.
        return value
    return most if value >= most else max(32, 2 ** math.ceil(math.log2(max(2, value))))


def few_heads(value: int, most: int) -> int:
    """The largest power of two that is neither above the heads nor above `most`: it divides every hidden width."""
    return value if value < 2 else min(most, 2 ** int(math.log2(value)))


def small_head(value: int) -> int:
    """An eighth of a head, even, at least 8: as heads and hidden width shrink."""
    return max(8, math.ceil(value / 16) * 2)
