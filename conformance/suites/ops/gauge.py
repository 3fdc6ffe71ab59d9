"""Results that are right up to a choice, or undefined in places: taken to what is defined about them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from conformance.suites.ops.samples import Call


def without_signs(result: Any) -> Any:
    """A QR factorisation (q, r) with the phase of each column of q chosen so that the diagonal of r is not negative."""
    q, r = result
    diagonal = r.diagonal(dim1=-2, dim2=-1)
    size = diagonal.abs()
    phase = torch.where(size > 0, diagonal / size.clamp_min(torch.finfo(size.dtype).tiny), torch.ones_like(diagonal))
    count = phase.shape[-1]
    turned = r.clone()
    turned[..., :count, :] *= phase.conj().unsqueeze(-1)
    if q.numel() == 0:
        return q, turned
    columns = q.clone()
    columns[..., :count] *= phase.unsqueeze(-2)
    return columns, turned


def without_overflow(call: Call) -> Callable[[Any], Any]:
    """For casts to integers: zero where the value does not fit the integer type, which C++ leaves undefined."""
    value = call.input.real if call.input.is_complex() else call.input

    def process(result: Any) -> Any:
        if not value.is_floating_point() or not isinstance(result, Tensor) or result.dtype.is_floating_point:
            return result
        limits, wide = torch.iinfo(result.dtype), value.detach().double().trunc()
        # The upper limit of 64 bits is not a float64: its neighbour beyond is, hence the strict comparison.
        return result.where((wide >= limits.min) & (wide < float(limits.max) + 1), torch.zeros_like(result))

    return process


def without_wide_shifts(call: Call) -> Callable[[Any], Any]:
    """For bit shifts: zero where the distance is negative or not below the width, which C++ leaves undefined."""
    distance = torch.as_tensor(call.args[0])

    def process(result: Any) -> Any:
        if not isinstance(result, Tensor) or result.dtype.is_floating_point:
            return result
        fits = (distance >= 0) & (distance < result.element_size() * 8)
        return result.where(fits.expand_as(result), torch.zeros_like(result))

    return process
