"""Forward on inputs in other layouts: the same values spread over memory, or stored column by column."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from conformance.outcomes import Phase
from conformance.suites.ops.trial import Refused, Trial, attempted

_WEIRD = 12
"""Put between the values of integer tensors; floating ones get NaN. An op that reads it gives a wrong result."""


def noncontiguous(trial: Trial) -> None:
    """Raise unless every sample with its elements spread out gives the CPU's result for the same layout."""
    _run(trial, spread)


def transposed(trial: Trial) -> None:
    """Raise unless every sample with its last two dimensions swapped in memory gives the CPU's result."""
    _run(trial, column_major)


def _run(trial: Trial, change: Callable[[Tensor], Tensor]) -> None:
    for original in trial.samples():
        call = trial.timed(Phase.SETUP, lambda: original.changed(change))  # noqa: B023  # called at once
        trial.sample = (call.index, call.describe())
        moved = trial.move(call)
        want = trial.timed(Phase.COMPARE, lambda: attempted(lambda: call.on(trial.op)))  # noqa: B023
        if isinstance(want, Refused):
            # A view of such a layout may not exist. What the CPU refuses altogether shows in the kind `forward`.
            trial.tried -= 1
            continue
        trial.compare(trial.on_device(lambda: moved.on(trial.op)), want, call)  # noqa: B023
        trial.see_computing(call, trial.op)


def spread(value: Tensor) -> Tensor:
    """The same values at every second place of fresh memory; as it is when it is not contiguous or not strided."""
    if value.layout is not torch.strided or not value.is_contiguous():
        return value
    with torch.no_grad():
        wide = value.new_empty((*value.shape, 2))
        wide[..., 0] = _filler(value.dtype)
        wide[..., 1] = value
        return wide[..., 1].requires_grad_(value.requires_grad)


def _filler(dtype: torch.dtype) -> float | int | bool:
    if dtype.is_floating_point or dtype.is_complex:
        return math.nan
    return True if dtype is torch.bool else _WEIRD


def column_major(value: Tensor) -> Tensor:
    """The same values with the last two dimensions swapped in memory; as it is with fewer than two dimensions."""
    if value.layout is not torch.strided or value.dim() < 2 or not value.is_contiguous():
        return value
    with torch.no_grad():
        return value.mT.contiguous().mT.requires_grad_(value.requires_grad)
