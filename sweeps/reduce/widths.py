"""Widths, mapped by value: numbers that were equal anywhere in the tree stay equal, so that what fits still fits."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from sweeps.reduce.levels import SMALLEST_WIDTH, Level
from sweeps.reduce.roles import is_hidden, is_main


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value is an integer and not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def fields(node: Any) -> Iterator[tuple[str, Any]]:
    """Every field of a tree of configurations with its value."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if isinstance(value, Mapping):
                yield from fields(value)
            elif isinstance(value, list) and value and isinstance(value[0], Mapping):
                for each in value:
                    yield from fields(each)
            else:
                yield key, value


@dataclass(kw_only=True, slots=True)
class Widths:
    """One scale for a whole tree.

    `divisor` is a power of two, 1 to keep widths; hidden widths are multiples of `unit`.
    """

    divisor: int
    unit: int = 32
    known: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: Mapping[str, Any], level: Level) -> "Widths":
        """The scale that brings the widest hidden state of a tree to the level's width, all hidden widths mapped."""
        found = list(fields(tree))
        widest = max((v for k, v in found if is_count(v) and v >= SMALLEST_WIDTH and is_main(k)), default=0)
        # Heads of 64 and of 128, the usual sizes, fit into such a width a whole number of times.
        made = cls(divisor=_divisor(widest, level.width), unit=128 if level.whole_heads else 32)
        for key, value in found:
            if is_hidden(key):
                for each in value if isinstance(value, list) else (value,):
                    if is_count(each):
                        made.hidden(each)
        return made

    def hidden(self, value: int) -> int:
        """A width that heads divide."""
        return self._mapped(value, self.unit)

    def width(self, value: int) -> int:
        """Any other width: a multiple of 8."""
        return self._mapped(value, 8)

    def _mapped(self, value: int, multiple: int) -> int:
        if self.divisor == 1 or value <= SMALLEST_WIDTH:
            return value
        if value not in self.known:
            scaled = math.ceil(value / self.divisor / multiple) * multiple
            self.known[value] = min(value, max(SMALLEST_WIDTH, scaled))
        return self.known[value]


def _divisor(widest: int, aim: int | None) -> int:
    """The power of two that brings a width between the aim and twice the aim."""
    if aim is None or widest <= aim:
        return 1
    power: int = 2 ** math.floor(math.log2(widest / aim))
    return power * 2 if widest / power > 2 * aim else power
