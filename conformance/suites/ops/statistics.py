"""Results that are random or undefined: their form is compared, and of random ones the distribution."""

import math
from typing import Any, Final

import torch
from torch import Tensor

from conformance.suites.ops.compare import MismatchError, compare_form
from conformance.suites.ops.moving import tensors

BOUND: Final = 3.0
"""Two samples of n values differ when their Kolmogorov-Smirnov distance passes BOUND * sqrt(2 / n).

The chance that two samples of one distribution do is 2 * exp(-2 * BOUND**2) = 3e-8.
"""

FEWEST: Final = 19
"""With fewer values the bound is 1 and nothing could be told apart."""


def compare_forms(got: Any, want: Any) -> None:
    """Raise MismatchError unless both have tensors of the same shapes, dtypes and strides in the same order."""
    pairs = list(zip(tensors(got), tensors(want), strict=False))
    if len(tensors(got)) != len(tensors(want)):
        raise MismatchError(
            f"number of tensors differs from the CPU's\n{len(tensors(got))} instead of {len(tensors(want))}"
        )
    for number, (one, other) in enumerate(pairs):
        place = f"output[{number}]"
        compare_form(one, other, place)
        if one.layout is torch.strided and one.numel() > 1 and one.stride() != other.stride():
            raise MismatchError(f"strides of {place} differ from the CPU's\n{one.stride()} instead of {other.stride()}")


def compare_distributions(got: Any, want: Any, cluster: int = 0) -> None:
    """Raise MismatchError unless every tensor of `got` is distributed like that of `want`.

    Elements along the last `cluster` dimensions are drawn together and count as one.
    """
    for number, (one, other) in enumerate(zip(tensors(got), tensors(want), strict=True)):
        draws = math.prod(other.shape[: other.dim() - cluster]) if cluster else other.numel()
        if one.layout is torch.strided and one.numel() and draws >= FEWEST:
            _compare_distribution(_numbers(one), _numbers(other), draws, f"output[{number}]")


def _numbers(value: Tensor) -> Tensor:
    """All values as sorted float64; a complex tensor gives its real parts and its imaginary parts."""
    if value.dtype.is_complex:
        value = torch.view_as_real(value.to(torch.complex128).resolve_conj())
    return value.to(torch.float64).nan_to_num(nan=-math.inf).flatten().sort().values


def _compare_distribution(got: Tensor, want: Tensor, draws: int, place: str) -> None:
    distance, bound = ks_distance(got, want), BOUND * math.sqrt(2 / draws)
    if distance > bound:
        raise MismatchError(
            f"distribution of {place} differs from the CPU's\n{draws} draws, Kolmogorov-Smirnov distance "
            f"{distance:.3f} (allowed {bound:.3f}); median {float(got.median()):.4g} "
            f"instead of {float(want.median()):.4g}"
        )


def ks_distance(got: Tensor, want: Tensor) -> float:
    """The largest distance between the two empirical distribution functions of sorted values."""
    points = torch.cat([got, want])
    below = [torch.searchsorted(each, points, right=True).double() / len(each) for each in (got, want)]
    return float((below[0] - below[1]).abs().max())
