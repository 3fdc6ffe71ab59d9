"""One aten call as data: its overload, and its arguments as plain JSON, tensors by dtype, shape and strides."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import msgspec
import torch
from torch import Tensor

from sweeps.signature import canonical

LONGEST: Final = 256
"""Elements of a list argument that are kept: the longest of the shipped catalogue's models have 128."""

_DIGITS: Final = 12
"""Hexadecimal digits of a call in an identity: among 100,000 calls two meet with a chance of 2e-5."""

TENSOR: Final = "t"
DTYPE: Final = "y"
MEMORY_FORMAT: Final = "m"
LAYOUT: Final = "l"
DEVICE: Final = "d"
NUMBER: Final = "f"
LOST: Final = "?"
"""Marks of arguments that JSON has no word for: the one key, or the first, of an object. Tensors have `s` for their
shape and, where they are not contiguous, `g` for their strides; LOST names the type of what is not kept."""

Bounds = tuple[float, float] | None
"""The least and the greatest value that a tensor had; of a bool twice how many elements were true; None: unknown."""


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A distinct call. `op` is the overload as the dispatcher names it: `aten::add.Tensor`."""

    op: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}

    @property
    def digest(self) -> str:
        """What names the call: equal in every process and on every machine."""
        told = canonical([self.op, self.args, self.kwargs])
        return hashlib.blake2b(told, digest_size=16).hexdigest()[:_DIGITS]

    @property
    def base(self) -> str:
        """`aten::add` for `aten::add.Tensor`."""
        return self.op.partition(".")[0]

    @property
    def host(self) -> bool:
        """Whether it is a kernel that PyTorch picks on the CPU alone: no other device is ever asked for it."""
        return self.base.startswith("aten::mkldnn_") or self.base.endswith("_for_cpu")

    def tensors(self) -> Iterator[Mapping[str, Any]]:
        """The tensors among the arguments, in order."""
        yield from tensors((*self.args, *self.kwargs.values()))

    @property
    def dtype(self) -> str:
        """That of the first tensor of real or complex numbers, else of the first tensor, else the one asked for."""
        every = [str(each[TENSOR]) for each in self.tensors()]
        real = [each for each in every if each.startswith(("float", "bfloat", "complex"))]
        asked = self.kwargs.get("dtype")
        named = [str(asked[DTYPE])] if isinstance(asked, dict) and DTYPE in asked else []
        return next(iter((*real, *every, *named)), "")

    def lost(self) -> list[str]:
        """The types of arguments that were not kept."""
        return list(_lost((*self.args, *self.kwargs.values())))

    def describe(self) -> str:
        """The call for people: `aten::add.Tensor(float32[2, 3], 1.0)`."""
        named = (f"{name}={shown(each)}" for name, each in self.kwargs.items())
        return f"{self.op}({', '.join((*map(shown, self.args), *named))})"


def tensors(values: Any) -> Iterator[Mapping[str, Any]]:
    """The tensors in encoded arguments."""
    for each in values:
        if isinstance(each, dict):
            if TENSOR in each:
                yield each
        elif isinstance(each, list | tuple):
            yield from tensors(each)


def _lost(values: Any) -> Iterator[str]:
    for each in values:
        if isinstance(each, dict) and LOST in each:
            yield str(each[LOST])
        elif isinstance(each, list | tuple):
            yield from _lost(each)


def shown(value: Any) -> str:
    """One encoded argument for people."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    if not isinstance(value, dict):
        return repr(value)
    if TENSOR in value:
        strides = f" strides {list(value['g'])}" if "g" in value else ""
        return f"{value[TENSOR]}{list(value['s'])}{strides}"
    return next(iter(map(str, value.values())))


def encode(value: Any) -> Any:
    """An argument as JSON. What has no form keeps the name of its type, so that nothing is taken for something else."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Tensor):
        return _tensor(value)
    if isinstance(value, list | tuple):
        return {LOST: f"list of {len(value)}"} if len(value) > LONGEST else [encode(each) for each in value]
    if type(value) is int:
        return value if -(2**63) <= value < 2**64 else {NUMBER: str(value)}
    if type(value) is float:
        return value if value - value == 0 else {NUMBER: str(value)}
    return _word(value)


def _word(value: Any) -> Any:
    kinds: dict[type, str] = {torch.dtype: DTYPE, torch.memory_format: MEMORY_FORMAT, torch.layout: LAYOUT}
    if (mark := kinds.get(type(value))) is not None:
        return {mark: str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {DEVICE: 1}
    return {LOST: type(value).__name__}


def _tensor(value: Tensor) -> Any:
    if value.layout is not torch.strided or value.is_nested or value.is_quantized:
        return {LOST: f"{str(value.layout).removeprefix('torch.')} tensor"}
    made: dict[str, Any] = {TENSOR: dtype_name(value.dtype), "s": list(value.shape)}
    if not value.is_contiguous():
        made["g"] = list(value.stride())
    return made


@cache
def dtype_name(dtype: torch.dtype) -> str:
    """`float32`."""
    return str(dtype).removeprefix("torch.")
