"""Score and mask functions as users write them, by name. What they capture lies on the device of the problem."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from sweeps.flex.cases import Shape

Index = Tensor
"""A 0-dimensional tensor under vmap, or whole grids of indices that broadcast in the dense computation."""
ScoreMod = Callable[[Tensor, Index, Index, Index, Index], Tensor]
MaskMod = Callable[[Index, Index, Index, Index], Tensor]

WINDOW: Final = 32
"""Keys that a query sees with a sliding window: shorter than every sequence but the query of one token."""
CHUNK: Final = 64
CAP: Final = 5.0
"""Scores of inputs drawn from a normal distribution have a standard deviation of 1: a cap of 5 is felt at the ends."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A shape, and the device and dtype of the real numbers that the functions capture."""

    shape: Shape
    device: str
    dtype: torch.dtype = torch.float32

    @property
    def offset(self) -> int:
        """Where the first query stands among the keys: a decoded token comes after all keys before it."""
        return self.shape.keys - self.shape.queries

    def drawn(self, *size: int) -> Tensor:
        """Numbers that are the same on every device: drawn on the CPU, in float32, then moved."""
        generator = torch.Generator().manual_seed(sum(size))
        return torch.randn(size, generator=generator).to(self.device, self.dtype)

    def slopes(self) -> Tensor:
        """One slope a query head, a geometric sequence from 1/2 to 1/256, as ALiBi's paper has it."""
        heads = self.shape.heads
        return torch.exp2(-8.0 / heads * torch.arange(1, heads + 1)).to(self.device, self.dtype)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mods:
    """What is given to FlexAttention; None for none. `learned` are captured tensors that want gradients."""

    score: ScoreMod | None = None
    mask: MaskMod | None = None
    learned: tuple[Tensor, ...] = ()


Builder = Callable[[Problem], Mods]


def none(_problem: Problem) -> Mods:
    """Plain attention."""
    return Mods()


def _causal(offset: int) -> MaskMod:
    def mask(_b: Index, _h: Index, q: Index, k: Index) -> Tensor:
        return q + offset >= k

    return mask


def _both(one: MaskMod, other: MaskMod) -> MaskMod:
    def mask(b: Index, h: Index, q: Index, k: Index) -> Tensor:
        return one(b, h, q, k) & other(b, h, q, k)

    return mask


def _either(one: MaskMod, other: MaskMod) -> MaskMod:
    def mask(b: Index, h: Index, q: Index, k: Index) -> Tensor:
        return one(b, h, q, k) | other(b, h, q, k)

    return mask


def _near(offset: int, window: int) -> MaskMod:
    def mask(_b: Index, _h: Index, q: Index, k: Index) -> Tensor:
        return q + offset - k < window

    return mask


def causal(problem: Problem) -> Mods:
    """Each query sees the keys up to its own place."""
    return Mods(mask=_causal(problem.offset))


def sliding(problem: Problem) -> Mods:
    """Causal within a window."""
    return Mods(mask=_both(_causal(problem.offset), _near(problem.offset, WINDOW)))


def prefix(problem: Problem) -> Mods:
    """A prefix, of another length in each batch entry, is seen by all; the rest is causal."""
    lengths = (torch.arange(problem.shape.batch) * 17 + problem.shape.keys // 4).to(problem.device)

    def within(b: Index, _h: Index, _q: Index, k: Index) -> Tensor:
        return k < lengths[b]

    return Mods(mask=_either(within, _causal(problem.offset)))


def document(problem: Problem) -> Mods:
    """Several documents of unequal length in one sequence; a query sees its own, up to its place."""
    shape = problem.shape
    # Lengths grow: 5, 10, 15, … tokens.
    places = torch.arange(shape.keys, dtype=torch.float64)
    documents = torch.floor((torch.sqrt(1.0 + 8.0 * places / 5.0) - 1.0) / 2.0).to(torch.int32).to(problem.device)
    offset = problem.offset

    def same(_b: Index, _h: Index, q: Index, k: Index) -> Tensor:
        return documents[q + offset] == documents[k]

    return Mods(mask=_both(same, _causal(offset)))


def _alibi(problem: Problem) -> ScoreMod:
    slopes, offset = problem.slopes(), problem.offset

    def score(value: Tensor, _b: Index, h: Index, q: Index, k: Index) -> Tensor:
        return value - slopes[h] * (q + offset - k).abs()

    return score


def alibi(problem: Problem) -> Mods:
    """A penalty for distance, of another slope in each head."""
    return Mods(score=_alibi(problem))


def alibi_causal(problem: Problem) -> Mods:
    """ALiBi below a causal mask."""
    return Mods(score=_alibi(problem), mask=_causal(problem.offset))


def _softcap(value: Tensor) -> Tensor:
    return CAP * torch.tanh(value / CAP)


def _capped(value: Tensor, _b: Index, _h: Index, _q: Index, _k: Index) -> Tensor:
    return _softcap(value)


def softcap_causal(problem: Problem) -> Mods:
    """Scores kept between two bounds, causal."""
    return Mods(score=_capped, mask=_causal(problem.offset))


def softcap_sliding(problem: Problem) -> Mods:
    """Scores kept between two bounds, within a window."""
    return Mods(score=_capped, mask=_both(_causal(problem.offset), _near(problem.offset, WINDOW)))


def alibi_softcap(problem: Problem) -> Mods:
    """A penalty for distance on scores kept between two bounds, causal."""
    penalise = _alibi(problem)

    def score(value: Tensor, b: Index, h: Index, q: Index, k: Index) -> Tensor:
        return penalise(_softcap(value), b, h, q, k)

    return Mods(score=score, mask=_causal(problem.offset))


def relative_bias(problem: Problem) -> Mods:
    """A learned table by head and clipped distance."""
    reach, offset = 31, problem.offset
    table = problem.drawn(problem.shape.heads, 2 * reach + 1)

    def score(value: Tensor, _b: Index, h: Index, q: Index, k: Index) -> Tensor:
        return value + table[h, (q + offset - k).clamp(-reach, reach) + reach]

    return Mods(score=score, learned=(table,))


def natten(problem: Problem) -> Mods:
    """Neighbours within 3 rows and columns of an image that the sequence is the rows of, moved inwards at its edges."""
    side, reach = math.isqrt(problem.shape.keys), 3

    def mask(_b: Index, _h: Index, q: Index, k: Index) -> Tensor:
        q_row, q_column, k_row, k_column = q // side, q % side, k // side, k % side
        row, column = q_row.clamp(reach, side - 1 - reach), q_column.clamp(reach, side - 1 - reach)
        return ((row - k_row).abs() <= reach) & ((column - k_column).abs() <= reach)

    return Mods(mask=mask)


def causal_as_score(problem: Problem) -> Mods:
    """The causal mask written as a score of minus infinity."""
    offset = problem.offset

    def score(value: Tensor, _b: Index, _h: Index, q: Index, k: Index) -> Tensor:
        return torch.where(q + offset >= k, value, -float("inf"))

    return Mods(score=score)


def dilated(problem: Problem) -> Mods:
    """Every fourth key back within a window."""
    offset = problem.offset

    def stride(_b: Index, _h: Index, q: Index, k: Index) -> Tensor:
        return (q + offset - k) % 4 == 0

    window = _both(_causal(offset), _near(offset, 4 * WINDOW))
    return Mods(mask=_both(window, stride))


def chunked(problem: Problem) -> Mods:
    """Causal within chunks of the sequence."""
    offset = problem.offset

    def same(_b: Index, _h: Index, q: Index, k: Index) -> Tensor:
        return (q + offset) // CHUNK == k // CHUNK

    return Mods(mask=_both(same, _causal(offset)))


def global_sliding(problem: Problem) -> Mods:
    """The first tokens see all and are seen by all; the others see a window to both sides."""
    offset, first = problem.offset, 4

    def all_seen(_b: Index, _h: Index, q: Index, k: Index) -> Tensor:
        return (k < first) | (q + offset < first)

    def window(_b: Index, _h: Index, q: Index, k: Index) -> Tensor:
        return (q + offset - k).abs() < WINDOW

    return Mods(mask=_either(all_seen, window))


def transfusion(problem: Problem) -> Mods:
    """Text is causal, each image in it sees the whole of itself; -1 marks text."""
    places, offset = torch.arange(problem.shape.keys), problem.offset
    images = torch.where(places % 96 >= 32, places // 96, -1).to(problem.device)

    def same(_b: Index, _h: Index, q: Index, k: Index) -> Tensor:
        return (images[q + offset] == images[k]) & (images[k] >= 0)

    return Mods(mask=_either(same, _causal(offset)))


def relative_position(problem: Problem) -> Mods:
    """The distance itself, scaled, added to the score."""
    offset = problem.offset

    def score(value: Tensor, _b: Index, _h: Index, q: Index, k: Index) -> Tensor:
        return value + (q + offset - k) / 64

    return Mods(score=score)


def head_bias(problem: Problem) -> Mods:
    """A number a head, doubled for keys before the query: alone it would change nothing."""
    biases, offset = problem.drawn(problem.shape.heads), problem.offset

    def score(value: Tensor, _b: Index, h: Index, q: Index, k: Index) -> Tensor:
        return value + biases[h] * torch.where(q + offset > k, 2.0, 1.0)

    return Mods(score=score)


BUILDERS: Final[Mapping[str, Builder]] = {
    each.__name__.replace("_", "-"): each
    for each in (
        none, causal, sliding, prefix, document, alibi, alibi_causal, softcap_causal, softcap_sliding, alibi_softcap,
        relative_bias, natten, causal_as_score, dilated, chunked, global_sliding, transfusion, relative_position,
        head_bias,
    )
}  # fmt: skip
"""Every builder by the name that cases give it."""
