"""The ladder: how small a configuration is made, and what is tried next when that cannot be built or run."""

from dataclasses import dataclass
from typing import Final

SEQUENCE: Final = 16
"""Tokens of an input. A window of 8 is then passed, so that it triggers."""
WINDOW: Final = 8
SMALLEST_WIDTH: Final = 32
"""Widths of at most 32 stay: they are sizes of things, seldom of layers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    """Sizes that a level aims at. `width` is that of the widest hidden state, None to keep widths; `heads` likewise.

    `whole_heads` keeps the size of a head: kernels for attention are chosen by it.
    """

    name: str
    width: int | None
    layers: int
    heads: int | None
    experts: int
    vocabulary: int
    positions: int
    whole_heads: bool = False


TINY: Final = Level(name="tiny", width=64, layers=2, heads=4, experts=4, vocabulary=512, positions=512)
SMALL: Final = Level(name="small", width=256, layers=2, heads=4, experts=4, vocabulary=512, positions=512)
ALIGNED: Final = Level(
    name="aligned", width=256, layers=2, heads=4, experts=4, vocabulary=512, positions=512, whole_heads=True
)
"""Beside the ladder: heads as wide as they were, in hidden states of 256 up to 511."""

SHALLOW: Final = Level(name="shallow", width=None, layers=2, heads=None, experts=4, vocabulary=2048, positions=512)

WHOLE: Final = Level(
    name="whole", width=None, layers=1 << 30, heads=None, experts=1 << 30, vocabulary=1 << 30, positions=1 << 30
)
"""Nothing is reduced: for models that are small as they are and whose parts no rule keeps fitting."""

LADDER: Final = (TINY, SMALL, SHALLOW, WHOLE)
_LADDERS: Final = {TINY.name: LADDER, ALIGNED.name: (ALIGNED, SHALLOW, WHOLE)}


def ladder(first: str) -> tuple[Level, ...]:
    """The levels to try in turn, by the name of the first. Raises KeyError where no ladder begins with that one."""
    return _LADDERS[first]
