"""Recording the aten calls of a forward, each distinct one once with its count and the bounds of its values."""

import math
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from sweeps.calls.specs import Bounds, Call, encode

_CPU_ATTENTION: Final = "aten::_scaled_dot_product_flash_attention_for_cpu"
"""The kernel that PyTorch picks on the CPU alone; any device is asked for the op that was called."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """How often a call was made, and the bounds of each of its tensors in order."""

    call: Call
    count: int
    bounds: tuple[Bounds, ...]


_ENCODED: Final[dict[Any, tuple[Call, str]]] = {}
"""Calls that this process has seen, with their digests: most of a model's calls are those of others too."""


class Recorder:
    """What was called since it was cleared. Told of a call before it is made: it may overwrite its arguments."""

    __slots__ = ("_found", "bounded")

    def __init__(self, *, bounded: bool = True) -> None:
        self._found: dict[Any, tuple[list[int], tuple[Bounds, ...]]] = {}
        self.bounded = bounded
        """Whether the values of tensors can be looked at."""

    def clear(self) -> None:
        """Forget everything."""
        self._found.clear()

    def take(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Count a call; its arguments are looked at the first time, values only where an op works on them."""
        key = (func, _key(args), _key(tuple(kwargs.items())))
        if (known := self._found.get(key)) is not None:
            known[0][0] += 1
            return
        if key not in _ENCODED:
            spec = {name: encode(each) for name, each in kwargs.items()}
            call = _asked(func._schema, tuple(map(encode, args)), spec)
            _ENCODED[key] = (call, call.digest)
        looks = self.bounded and not func.is_view
        self._found[key] = ([1], tuple(map(bounds_of, _tensors((args, *kwargs.values())))) if looks else ())

    def calls(self) -> dict[str, Counted]:
        """Every distinct call by its digest."""
        found: dict[str, Counted] = {}
        for key, ((number,), bounds) in self._found.items():
            call, digest = _ENCODED[key]
            if (before := found.get(digest)) is not None:
                number, bounds = number + before.count, wider(before.bounds, bounds)
            found[digest] = Counted(call=call, count=number, bounds=bounds)
        return found


def _asked(schema: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """The call that was asked for, its overload as `aten::add.Tensor`, `aten::relu` where that has no name."""
    if schema.name == _CPU_ATTENTION:
        rest = {name: each for name, each in kwargs.items() if name != "attn_mask"}
        if args[0]["s"][-3:-2] != args[1]["s"][-3:-2]:
            rest["enable_gqa"] = True
        given = (*args[:3], kwargs.get("attn_mask"), *args[3:])
        return Call(op="aten::scaled_dot_product_attention", args=given, kwargs=rest)
    name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)
    return Call(op=name, args=args, kwargs=kwargs)


def _key(value: Any) -> Any:
    """Equal for arguments that are one call: what is compared has to be hashed, and quickly."""
    if isinstance(value, Tensor):
        return (value.dtype, value.shape, value.stride()) if value.layout is torch.strided else (value.layout,)
    if isinstance(value, list | tuple):
        return tuple(map(_key, value))
    # 1, 1.0 and True are equal, but not one argument.
    return (type(value), value) if isinstance(value, bool | int | float) else str(value)


def _tensors(values: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for each in values:
        if isinstance(each, Tensor):
            found.append(each)
        elif isinstance(each, list | tuple):
            found += _tensors(each)
    return found


def bounds_of(value: Tensor) -> Bounds:
    """The bounds of a tensor's values, of real numbers rounded outwards to powers of ten; None where there are none."""
    if value.layout is not torch.strided or not value.numel() or value.is_complex() or value.is_meta:
        return None
    if value.dtype is torch.bool:
        true = int(value.sum())
        return (true, true)
    try:
        low, high = (each.item() for each in value.aminmax())
    except (RuntimeError, NotImplementedError):
        return None
    if not value.is_floating_point():
        return (low, high)
    return None if math.isnan(low) or math.isnan(high) else (_outwards(low, down=True), _outwards(high, down=False))


_LARGEST: Final = 1e38


def _outwards(value: float, *, down: bool) -> float:
    """The next power of ten below or above: models that differ in weights alone have the same bounds."""
    if value == 0 or math.isinf(value):
        return max(-_LARGEST, min(_LARGEST, value))
    exponent = math.log10(abs(value))
    size = 10.0 ** (math.floor(exponent) if (value > 0) is down else math.ceil(exponent))
    return math.copysign(min(size, _LARGEST), value)


def wider(one: tuple[Bounds, ...], other: tuple[Bounds, ...]) -> tuple[Bounds, ...]:
    """Bounds that hold for both; unknown ones are those of the other."""
    if len(one) != len(other):
        return one or other
    return tuple(_united(left, right) for left, right in zip(one, other, strict=True))


def _united(left: Bounds, right: Bounds) -> Bounds:
    if left is None or right is None:
        return left or right
    return (min(left[0], right[0]), max(left[1], right[1]))
