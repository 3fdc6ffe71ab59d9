"""What a model gave: its tensors under names, and how far two such answers are apart."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

import msgspec
import torch
from torch import Tensor

ALLOWED: Final[Mapping[str, float]] = {"float32": 1e-5, "bfloat16": 3e-2, "float16": 1e-2, "float64": 1e-12}
"""Relative L2 distance that a right answer may have from the CPU's, by the dtype that the model computes in.

Measured against float64 over the model types of transformers 5.24: 2e-6 at the 95th percentile in float32, 2.8e-2 in
bfloat16; float16 is heavy-tailed.
"""

_DEEPEST: Final = 6


class Difference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One output on both sides. `relative` is |device - cpu| / |cpu| over all elements, left out of JSON where it is
    infinite; `correlation` is Pearson's.

    `device` and `cpu` are the two L2 norms; `worst` the place of the largest difference with both values.
    """

    name: str
    shape: tuple[int, ...]
    relative: float = math.inf
    correlation: float
    device: float
    cpu: float
    worst: str = ""
    wrong: str = ""


def named(value: Any, name: str = "output", depth: int = 0) -> Iterator[tuple[str, Tensor]]:
    """Every tensor of an answer with its name; caches, which hold what is seen elsewhere, are passed over."""
    if isinstance(value, Tensor):
        yield name, value
    elif depth > _DEEPEST:
        return
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from named(each, str(key) if depth == 0 else f"{name}.{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from named(each, f"{name}[{number}]", depth + 1)
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from named(getattr(value, each.name), f"{name}.{each.name}", depth + 1)


def finite(answer: Mapping[str, Tensor]) -> bool:
    """Whether an answer has an element that is a number."""
    real = [each for each in answer.values() if each.is_floating_point() and each.numel()]
    return not real or any(bool(torch.isfinite(each).any()) for each in real)


def constant(answer: Mapping[str, Tensor]) -> list[str]:
    """Names of outputs whose elements are all the same: a comparison of them says little."""
    return [
        name for name, each in answer.items()
        if each.numel() > 1 and not each.is_complex() and bool((each == each.flatten()[0]).all())
    ]  # fmt: skip


def differences(got: Mapping[str, Tensor], want: Mapping[str, Tensor], allowed: float) -> list[Difference]:
    """Every output on both sides; `wrong` says what is wrong with one, in words."""
    names = [*want, *(name for name in got if name not in want)]
    return [_difference(name, got.get(name), want.get(name), allowed) for name in names]


def _difference(name: str, got: Tensor | None, want: Tensor | None, allowed: float) -> Difference:
    if got is None or want is None:
        shown = want if got is None else got
        assert shown is not None
        wrong = "missing on the device" if got is None else "not among the CPU's outputs"
        return _unlike(name, tuple(shown.shape), wrong)
    if got.shape != want.shape or got.dtype != want.dtype:
        wrong = f"{got.dtype} of shape {list(got.shape)} instead of {want.dtype} of shape {list(want.shape)}"
        return _unlike(name, tuple(want.shape), wrong)
    return _measured(name, got, want, allowed)


def _unlike(name: str, shape: tuple[int, ...], wrong: str) -> Difference:
    return Difference(name=name, shape=shape, relative=math.inf, correlation=0.0, device=0.0, cpu=0.0, wrong=wrong)


def _measured(name: str, got: Tensor, want: Tensor, allowed: float) -> Difference:
    one, other = _wide(got), _wide(want)
    both = torch.isfinite(one) & torch.isfinite(other)
    pattern = bool((torch.isfinite(one) == torch.isfinite(other)).all())
    kept, expected = one.where(both, 0.0), other.where(both, 0.0)
    gap = kept - expected
    size, distance = float(expected.norm()), float(gap.norm())
    relative = distance / size if size else (0.0 if not distance else math.inf)
    exact = not (want.is_floating_point() or want.is_complex())
    wrong = "" if relative <= (0.0 if exact else allowed) else f"relative L2 {relative:.3g}"
    return Difference(
        name=name, shape=tuple(want.shape), relative=relative, correlation=_correlation(kept, expected),
        device=float(kept.norm()), cpu=size, worst=_worst(gap, one, other),
        wrong=wrong if pattern else "other elements are infinite or not a number than on the CPU",
    )  # fmt: skip


def _wide(value: Tensor) -> Tensor:
    value = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    return value.detach().to(torch.float64)


def _correlation(one: Tensor, other: Tensor) -> float:
    left, right = (each.flatten() - each.mean() if each.numel() else each.flatten() for each in (one, other))
    scale = float(left.norm() * right.norm())
    return float(left @ right) / scale if scale else 1.0


def _worst(gap: Tensor, one: Tensor, other: Tensor) -> str:
    if not gap.numel() or not float(gap.abs().max()):
        return ""
    at = int(gap.abs().argmax())
    place = [int(each) for each in torch.unravel_index(torch.tensor(at), gap.shape)] if gap.dim() else []
    return f"{place}: {float(one.flatten()[at])!r} on the device, {float(other.flatten()[at])!r} on the CPU"
