"""One input as data: how it is filled, and the tensor that comes of it, the same wherever it is made."""

import zlib
from collections.abc import Mapping
from typing import Any

import msgspec
import torch
from torch import Tensor


class Filling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tensor of `shape`: normal or uniform numbers, integers from `low` below `high`, one value, or given values.

    Random numbers come from torch's CPU generator, seeded with the CRC-32 of the input's name.
    `unstacked` makes a list of tensors, the first dimension taken apart.
    """

    fill: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    low: int = 0
    high: int = 0
    value: float = 0.0
    values: list[Any] = []
    unstacked: bool = False

    def tensor(self, name: str) -> Tensor:
        """The tensor, on the CPU."""
        seeded = torch.Generator().manual_seed(zlib.crc32(name.encode()))
        dtype = getattr(torch, self.dtype)
        match self.fill:
            case "normal":
                return torch.randn(self.shape, generator=seeded).to(dtype)
            case "uniform":
                return torch.rand(self.shape, generator=seeded).to(dtype)
            case "integers":
                return torch.randint(self.low, max(self.high, self.low + 1), self.shape, generator=seeded).to(dtype)
            case "values":
                return torch.tensor(self.values, dtype=dtype).reshape(self.shape)
            case _:
                return torch.full(self.shape, self.value, dtype=dtype)


Given = dict[str, Filling]
"""Inputs by the name of their parameter."""


def normal(*shape: int) -> Filling:
    """Numbers of the standard normal distribution."""
    return Filling(fill="normal", shape=shape)


def uniform(*shape: int) -> Filling:
    """Numbers from 0 below 1."""
    return Filling(fill="uniform", shape=shape)


def integers(low: int, high: int, *shape: int) -> Filling:
    """Integers from `low` below `high`."""
    return Filling(fill="integers", shape=shape, dtype="int64", low=low, high=high)


def constant(value: float, *shape: int, dtype: str = "int64") -> Filling:
    """One value everywhere."""
    return Filling(fill="constant", shape=shape, dtype=dtype, value=value)


def values(given: Any, dtype: str = "int64") -> Filling:
    """Given values, a nested list."""
    made = torch.tensor(given)
    return Filling(fill="values", shape=tuple(made.shape), dtype=dtype, values=made.tolist())


def tensors(given: Mapping[str, Filling]) -> dict[str, Any]:
    """The arguments of a model: tensors, or lists of them."""
    made = {name: each.tensor(name) for name, each in given.items()}
    return {name: list(made[name].unbind()) if given[name].unstacked else made[name] for name in given}
