"""Arguments for a recorded call: values drawn between the bounds that models had there, in memory as it was there."""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from conformance.suites.ops import samples
from conformance.suites.ops.samples import seed_of
from sweeps.calls.specs import DEVICE, DTYPE, LAYOUT, MEMORY_FORMAT, NUMBER, TENSOR, Bounds, Call

MOST_ELEMENTS: Final = 50_000_000
"""Elements of all of a call's tensors together: 200 MB in float32, on each of two sides and once in between."""

_EVENLY: Final = 100.0
"""Real values are drawn evenly between bounds up to this size; masks and their like have far greater ones."""

_WRITES: Final = frozenset(
    {"aten::scatter", "aten::scatter_", "aten::index_put", "aten::index_put_", "aten::index_copy", "aten::index_copy_",
     "aten::_index_put_impl_", "aten::put", "aten::put_"}
)  # fmt: skip
"""Ops that write where indices say: which of two values for one place wins is not defined."""

_SORTED: Final = {
    "aten::bucketize.Tensor": (1,), "aten::searchsorted.Tensor": (0,), "aten::_embedding_bag": (2,),
    "aten::_grouped_mm": (2,),
}  # fmt: skip
"""Tensors, by their place among the call's tensors, whose elements ascend from the least to the greatest."""


class NotMadeError(Exception):
    """Arguments of a call that cannot be made; the text says which and why, in one sentence."""


def made(call: Call, bounds: Sequence[Bounds]) -> samples.Call:
    """The call's arguments on the CPU, the same in every process. Raises NotMadeError."""
    if lost := call.lost():
        raise NotMadeError(f"{lost[0]} is no argument that is kept")
    elements = sum(_elements(each) for each in call.tensors())
    if elements > MOST_ELEMENTS:
        raise NotMadeError(f"its tensors have {elements:,} elements, {MOST_ELEMENTS:,} are made at most")
    makers = _makers(call, bounds)
    args = tuple(_argument(each, makers) for each in call.args)
    kwargs = {name: _argument(each, makers) for name, each in call.kwargs.items()}
    return samples.Call(index=0, input=args[0] if args else None, args=args[1:], kwargs=kwargs)


def _elements(spec: Mapping[str, Any]) -> int:
    """Elements of the memory that a tensor spans: views of more than there is have strides of zero."""
    shape: list[int] = spec["s"]
    strides: list[int] | None = spec.get("g")
    if strides is None or 0 in shape:
        return math.prod(shape)
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def _makers(call: Call, bounds: Sequence[Bounds]) -> "Iterator[Callable[[Mapping[str, Any]], Tensor]]":
    """For each tensor of the call in order what makes it from its description."""
    seed = seed_of(call.digest)
    known = list(bounds) or [None] * len(list(call.tensors()))
    for number, each in enumerate(known):
        generator = torch.Generator().manual_seed(seed + number)
        unlike = call.base in _WRITES and number > 0
        ascending = number in _SORTED.get(call.op, ())
        yield _Maker(generator, each, unlike=unlike, ascending=ascending)


class _Maker:
    """Makes one tensor."""

    def __init__(self, generator: torch.Generator, bounds: Bounds, *, unlike: bool, ascending: bool) -> None:
        self._generator, self._bounds = generator, bounds
        self._unlike, self._ascending = unlike, ascending

    def __call__(self, spec: Mapping[str, Any]) -> Tensor:
        dtype, number = _dtype(spec[TENSOR]), _elements(spec)
        values = self._values(dtype, number, spec)
        if self._ascending:
            values = self._sorted(values)
        return values.as_strided(spec["s"], spec["g"]) if "g" in spec else values.reshape(spec["s"])

    def _sorted(self, values: Tensor) -> Tensor:
        found = values.sort().values
        if self._bounds is not None and len(found):
            found[0], found[-1] = self._bounds
        return found

    def _values(self, dtype: torch.dtype, number: int, spec: Mapping[str, Any]) -> Tensor:
        if dtype is torch.bool:
            return self._truth(number, math.prod(spec["s"]))
        if dtype.is_complex:
            return torch.randn(number, generator=self._generator, dtype=torch.complex64).to(dtype)
        if dtype.is_floating_point:
            return self._real(number).to(dtype)
        return self._integers(number, dtype)

    def _truth(self, number: int, seen: int) -> Tensor:
        """As many true elements as there were, at other places."""
        share = self._bounds[0] / seen if self._bounds and seen else 0.5
        true = round(share * number)
        found = torch.zeros(number, dtype=torch.bool)
        found[torch.randperm(number, generator=self._generator)[:true]] = True
        return found

    def _real(self, number: int) -> Tensor:
        low, high = self._bounds or (-1.0, 1.0)
        if max(abs(low), abs(high)) <= _EVENLY:
            return torch.rand(number, generator=self._generator) * (high - low) + low
        drawn = torch.randn(number, generator=self._generator)
        return (drawn.abs() if low >= 0 else -drawn.abs() if high <= 0 else drawn).clamp(low, high)

    def _integers(self, number: int, dtype: torch.dtype) -> Tensor:
        low, high = (int(each) for each in self._bounds or (0, 1))
        if self._unlike and high - low + 1 >= number:
            return (torch.randperm(high - low + 1, generator=self._generator)[:number] + low).to(dtype)
        limits = torch.iinfo(dtype)
        low, high = max(low, limits.min), min(high, limits.max)
        spread = min(high - low, 2**62)
        return (torch.randint(spread + 1, (number,), generator=self._generator) + low).to(dtype)


def _dtype(name: Any) -> torch.dtype:
    found = getattr(torch, str(name), None)
    if not isinstance(found, torch.dtype):
        raise NotMadeError(f"the installed torch has no dtype {str(name)[:40]!r}")
    return found


def _argument(value: Any, makers: "Iterator[Callable[[Mapping[str, Any]], Tensor]]") -> Any:
    if isinstance(value, list | tuple):
        return [_argument(each, makers) for each in value]
    if not isinstance(value, dict):
        return value
    if TENSOR in value:
        return next(makers)(value)
    return _plain(value)


def _plain(value: Mapping[str, Any]) -> Any:
    if DEVICE in value:
        return torch.device("cpu")
    if NUMBER in value:
        text = str(value[NUMBER])
        return int(text) if text.lstrip("-").isdigit() else float(text)
    for mark in (DTYPE, MEMORY_FORMAT, LAYOUT):
        if mark in value:
            return getattr(torch, str(value[mark]))
    raise NotMadeError("an argument has no known form")


def overload(name: str) -> Any:
    """The overload of a recorded name. Raises NotMadeError where the installed torch has no such op."""
    space, _, rest = name.partition("::")
    base, _, kind = rest.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, space), base), kind or "default")
    except AttributeError:
        raise NotMadeError(f"the installed torch has no op {name}") from None


def fingerprint(call: Call) -> str:
    """A hash over a call and how its arguments are made, its definition in a plan."""
    told = f"{call.digest}\0{VERSION}"
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


VERSION: Final = 1
"""Raised when the same call would be given other arguments, or its answers be compared otherwise."""
