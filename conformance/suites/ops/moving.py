"""Copies of a sample on another device: same structure, values, strides, aliasing and requires_grad."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor

_LEAVES: Final = frozenset({Tensor, int, float, bool, str, complex, type(None)})
"""The usual leaves, told at once: most of a suite's values are one of them."""


def rebuild(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nesting of lists, tuples, named tuples and dicts with every leaf given to `change`."""
    if type(value) in _LEAVES:
        return change(value)
    if isinstance(value, list):
        return [rebuild(each, change) for each in value]
    if isinstance(value, tuple):
        parts = [rebuild(each, change) for each in value]
        if type(value) is tuple:
            return tuple(parts)
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: rebuild(each, change) for key, each in value.items()}
    return change(value)


@dataclass(kw_only=True, slots=True)
class Mover:
    """Copies values to `device`. One mover a sample: tensors that share memory share it on the device too."""

    device: str
    _storages: dict[tuple[int, torch.dtype], Tensor] = field(default_factory=dict)

    def __call__(self, value: Any) -> Any:
        """The copy of a nested value; names of devices become `device`, generators get their seed anew."""
        return rebuild(value, self._leaf)

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._tensor(value)
        if type(value) in _LEAVES and value != "cpu":
            return value
        if isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu"):
            return torch.device(self.device)
        if isinstance(value, torch.Generator):
            return torch.Generator(device=self.device).manual_seed(value.initial_seed())
        return value

    def _tensor(self, value: Tensor) -> Tensor:
        with torch.no_grad():
            if value.layout is not torch.strided or value.is_nested:
                moved = value.detach().to(self.device, copy=True)
            else:
                moved = self._strided(value)
        return moved.requires_grad_() if value.requires_grad else moved

    def _strided(self, value: Tensor) -> Tensor:
        """Copies whole storages, so that strides, overlaps and aliases stay what they were."""
        flat = self._storage(value)
        if value.numel() == flat.numel() and value.is_contiguous():
            moved = flat.view(value.shape)
        else:
            moved = flat.as_strided(value.size(), value.stride(), value.storage_offset())
        if value.is_conj():
            moved = moved.conj()
        return torch._neg_view(moved) if value.is_neg() else moved

    def _storage(self, value: Tensor) -> Tensor:
        storage = value.untyped_storage()
        key = (storage.data_ptr(), value.dtype)
        if key not in self._storages or not key[0]:
            flat = torch.empty(0, dtype=value.dtype)
            # set_ shares the bytes: the copy is then one transfer, whatever the view of them is.
            flat.set_(storage, 0, (storage.nbytes() // value.element_size(),), (1,))
            self._storages[key] = flat.to(self.device, copy=True)
        return self._storages[key]


def to_cpu(value: Any) -> Any:
    """The nested value with its tensors on the CPU, without history."""
    return rebuild(value, _to_cpu)


def _to_cpu(leaf: Any) -> Any:
    if not isinstance(leaf, Tensor):
        return leaf
    if leaf.requires_grad:
        leaf = leaf.detach()
    return leaf if leaf.is_cpu else leaf.cpu()


def tensors(value: Any) -> list[Tensor]:
    """All tensors of a nested value, in order."""
    found: list[Tensor] = []

    def note(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            found.append(leaf)
        return leaf

    rebuild(value, note)
    return found
