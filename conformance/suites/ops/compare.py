"""A device's result beside the CPU's: structure, shapes, dtypes and values, with the worst error and its place."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True)
class Tolerance:
    """A value is right when |got - want| <= absolute + relative * |want| + of_largest * max(|want|). NaN equals NaN.

    The last term is for sums of products in half precision: their error goes with the addends, not with the sum.
    """

    absolute: float
    relative: float
    of_largest: float = 0.0

    def __str__(self) -> str:
        largest = f" + {self.of_largest:g} * largest" if self.of_largest else ""
        return f"{self.absolute:g} + {self.relative:g} * |value|{largest}"


EXACT: Final = Tolerance(absolute=0.0, relative=0.0)

BY_DTYPE: Final[Mapping[torch.dtype, Tolerance]] = {
    torch.float16: Tolerance(absolute=1e-5, relative=1e-3),
    torch.bfloat16: Tolerance(absolute=1e-5, relative=1.6e-2),
    torch.float32: Tolerance(absolute=1e-5, relative=1.3e-6),
    torch.float64: Tolerance(absolute=1e-7, relative=1e-7),
    torch.complex32: Tolerance(absolute=1e-5, relative=1e-3),
    torch.complex64: Tolerance(absolute=1e-5, relative=1.3e-6),
    torch.complex128: Tolerance(absolute=1e-7, relative=1e-7),
}
"""The defaults that torch.testing.assert_close documents; every other dtype is compared exactly."""

_BITS: Final[Mapping[int, torch.dtype]] = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class MismatchError(AssertionError):
    """The device's result is not the CPU's. The first line tells what differs, the others where and by how much."""


def compare(got: Any, want: Any, overrides: Mapping[torch.dtype, Tolerance], place: str = "output") -> None:
    """Raise MismatchError unless `got` is `want`, both nested values with tensors on the CPU."""
    if isinstance(want, Tensor):
        _need_tensor(got, place)
        _compare_tensor(got, want, overrides, place)
    elif isinstance(want, dict):
        _need(isinstance(got, dict) and got.keys() == want.keys(), got, want, place)
        for key in want:
            compare(got[key], want[key], overrides, f"{place}[{key!r}]")
    elif isinstance(want, list | tuple):
        _need(isinstance(got, list | tuple) and len(got) == len(want), got, want, place)
        for number, (one, other) in enumerate(zip(got, want, strict=True)):
            compare(one, other, overrides, f"{place}[{number}]")
    else:
        _compare_plain(got, want, place)


def _need_tensor(got: Any, place: str) -> None:
    if not isinstance(got, Tensor):
        raise MismatchError(f"{place} is a {type(got).__name__} and not a tensor")


def _need(fine: bool, got: Any, want: Any, place: str) -> None:
    if not fine:
        raise MismatchError(f"{place} has another structure than the CPU's\n{_short(got)} instead of {_short(want)}")


def _short(value: Any) -> str:
    text = f"{type(value).__name__} {value!r}"
    return text if len(text) <= 200 else text[:200] + " …"


def _compare_plain(got: Any, want: Any, place: str) -> None:
    if isinstance(want, float | complex) and isinstance(got, float | complex | int):
        number = torch.complex128 if isinstance(want, complex) else torch.float64
        one, other = (torch.tensor(each, dtype=number) for each in (got, want))
        _compare_values(one, other, BY_DTYPE[torch.float32], place)
    elif type(got) is not type(want) or got != want:
        raise MismatchError(f"{place} differs from the CPU's\n{_short(got)} instead of {_short(want)}")


def compare_form(got: Tensor, want: Tensor, place: str) -> None:
    """Raise MismatchError unless shape, dtype and layout are equal."""
    for name in ("dtype", "layout", "shape"):
        one, other = getattr(got, name), getattr(want, name)
        if one != other:
            raise MismatchError(f"{name} of {place} differs from the CPU's\n{one} instead of {other}")


def _compare_tensor(got: Tensor, want: Tensor, overrides: Mapping[torch.dtype, Tolerance], place: str) -> None:
    if _plainly_equal(got, want):
        return
    compare_form(got, want, place)
    if want.layout is not torch.strided:
        got, want = got.to_dense(), want.to_dense()
    if want.is_nested:
        compare(got.unbind(), want.unbind(), overrides, place)
    elif not _same_bits_or_values(got, want):
        tolerance = overrides.get(want.dtype) or BY_DTYPE.get(want.dtype, EXACT)
        _compare_values(got, want, tolerance, place)


def _plainly_equal(got: Tensor, want: Tensor) -> bool:
    """Whether dtype, layout, shape and all values are equal, told at once where the CPU can; False says nothing."""
    if got.dtype is not want.dtype or got.layout is not want.layout or want.layout is not torch.strided:
        return False
    return not (want.dtype in _NARROW or want.is_nested or got.is_nested) and torch.equal(got, want)


def _same_bits_or_values(got: Tensor, want: Tensor) -> bool:
    """The quick way to yes: most results are equal to the last bit."""
    return got.numel() == 0 or torch.equal(_comparable(got), _comparable(want))


def _comparable(value: Tensor) -> Tensor:
    if value.dtype not in _NARROW:
        return value
    return value.resolve_conj().resolve_neg().contiguous().view(_BITS[value.element_size()])


_NARROW: Final = frozenset(
    {
        torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu,
        torch.uint16, torch.uint32, torch.uint64, torch.complex32,
    }
)  # fmt: skip
"""Dtypes without comparison kernels on the CPU: their bits are compared first."""


def _wide(value: Tensor) -> Tensor:
    """The values in a dtype wide enough to subtract them."""
    return value.to(torch.complex128 if value.dtype.is_complex else torch.float64)


def _compare_values(got: Tensor, want: Tensor, tolerance: Tolerance, place: str) -> None:
    one, other = _wide(got), _wide(want)
    error = (one - other).abs()
    if tolerance is EXACT:
        # In the tensors' own dtype: float64 does not tell all integers beyond 2**53 apart.
        fine = _comparable(got) == _comparable(want)
    else:
        # An infinite error is within an infinite allowance: only equality makes an infinity right.
        fine = (torch.isfinite(error) & (error <= _allowed(other, tolerance))) | (one == other)
    fine |= torch.isnan(one) & torch.isnan(other)
    if not bool(fine.all()):
        raise MismatchError(_worst(one, other, error, fine, tolerance, place))


def _allowed(want: Tensor, tolerance: Tolerance) -> Tensor:
    size = want.abs()
    allowed = tolerance.absolute + tolerance.relative * size
    if tolerance.of_largest and size.numel():
        allowed = allowed + tolerance.of_largest * size.nan_to_num(nan=0.0, posinf=0.0).max()
    return allowed


def _worst(got: Tensor, want: Tensor, error: Tensor, fine: Tensor, tolerance: Tolerance, place: str) -> str:
    """What differs, how often, the worst element and its index."""
    excess = torch.where(fine, -1.0, torch.nan_to_num(error, nan=math.inf, posinf=math.inf))
    flat = int(excess.argmax())
    index = tuple(int(each) for each in torch.unravel_index(torch.tensor(flat), want.shape)) if want.dim() else ()
    one, other = got.flatten()[flat].item(), want.flatten()[flat].item()
    absolute = abs(one - other)
    relative = absolute / abs(other) if other else math.inf
    wrong = int((~fine).sum())
    return (
        f"values of {place} differ from the CPU's\n"
        f"{wrong} of {want.numel()} elements; worst at {list(index)}: {one!r} instead of {other!r}, absolute error "
        f"{absolute:.3g}, relative {relative:.3g} (allowed {tolerance})"
    )
