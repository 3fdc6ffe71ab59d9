"""The device's answer beside the dense one in float64, row by row."""

import math
from collections.abc import Mapping
from typing import Final

import msgspec
import torch
from torch import Tensor

ALLOWED: Final[Mapping[str, float]] = {"float32": 1e-5, "bfloat16": 3e-2, "float16": 4e-3}
"""Distance that a right row may have from the dense row in float64, by the dtype of the inputs; see `Difference.row`.

PyTorch's own dense FlexAttention on the CPU, over the cases of this suite (torch 2.13): outputs 1.7e-6 in float32,
4.6e-3 in bfloat16, 4.6e-4 in float16; gradients 5.3e-6 and 1.7e-2. Weights are rounded to the inputs' dtype there.
"""


class Difference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One output or gradient on both sides.

    `row` is the largest distance of a row (the last dimension) in the L2 norm, relative to the row's norm or to the
    root mean square of all rows' norms, whichever is larger; `place` is that row. `relative` is taken over all
    elements. `device` and `dense` are the norms of both sides.
    """

    name: str
    shape: tuple[int, ...]
    row: float
    relative: float
    device: float
    dense: float
    place: tuple[int, ...] = ()
    wrong: str = ""


def compared(
    got: Mapping[str, Tensor], want: Mapping[str, Tensor], dtype: torch.dtype, allowed: float
) -> list[Difference]:
    """Every output, worst first; `wrong` says in words what is wrong with one. `want` is in float64 on the CPU."""
    found = [_compared(name, got[name], each, dtype, allowed) for name, each in want.items()]
    return sorted(found, key=lambda each: (not each.wrong, -each.row))


def _compared(name: str, got: Tensor, want: Tensor, dtype: torch.dtype, allowed: float) -> Difference:
    due = torch.float32 if name == "logsumexp" or name.startswith("gradient of learned") else dtype
    if got.shape != want.shape or got.dtype != due:
        wrong = f"{got.dtype} of shape {list(got.shape)} instead of {due} of shape {list(want.shape)}"
        return Difference(
            name=name, shape=tuple(want.shape), row=math.inf, relative=math.inf, device=0.0, dense=float(want.norm()),
            wrong=wrong,
        )  # fmt: skip
    return _measured(name, got.detach().cpu().double(), want, allowed)


def _measured(name: str, got: Tensor, want: Tensor, allowed: float) -> Difference:
    rows, dense = got.reshape(-1, got.shape[-1]), want.reshape(-1, want.shape[-1])
    sizes, distances = dense.norm(dim=-1), (rows - dense).norm(dim=-1)
    usual = sizes.square().mean().sqrt()
    ratios = distances / sizes.clamp_min(float(usual) or 1.0)
    # A distance that is not a number is the worst there is.
    ratios = torch.where(ratios.isnan(), math.inf, ratios)
    worst = int(ratios.argmax())
    place = torch.unravel_index(torch.tensor(worst), want.shape[:-1])
    size = float(want.norm())
    row = float(ratios[worst])
    return Difference(
        name=name, shape=tuple(want.shape), row=row, relative=float((got - want).norm()) / (size or 1.0),
        device=float(got.norm()), dense=size, place=tuple(map(int, place)),
        wrong="" if row <= allowed else f"a row is {row:.3g} off",
    )  # fmt: skip
