"""Copies of a sample on another device: same structure, values, strides, aliasing and requires_grad."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import torch
from torch import Tensor

_LEAVES: Final = frozenset({Tensor, int, float, bool, str, complex, type(None)})
"""The usual leaves, told at once: most of a suite's values are one of them."""


def rebuild(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nesting of lists, tuples, named tuples and dicts with every leaf given to `change`."""
    kind = type(value)
    if kind in _LEAVES:
        return change(value)
    if kind is tuple:
        return tuple(_parts(value, change))
    if isinstance(value, list):
        return _parts(value, change)
    if isinstance(value, tuple):
        parts = _parts(value, change)
        return kind(*parts) if hasattr(value, "_fields") else kind(parts)
    if isinstance(value, dict):
        return dict(zip(value, _parts(value.values(), change), strict=True))
    return change(value)


def _parts(values: Iterable[Any], change: Callable[[Any], Any]) -> list[Any]:
    return [change(each) if type(each) in _LEAVES else rebuild(each, change) for each in values]


class Mover:
    """Copies values to `device`. One mover a sample: tensors that share memory share it on the device too."""

    __slots__ = ("_device", "_storages")

    def __init__(self, *, device: str) -> None:
        self._device = torch.device(device)
        self._storages: dict[tuple[int, torch.dtype], Tensor] = {}

    def __call__(self, value: Any) -> Any:
        """The copy of a nested value; names of devices become `device`, generators get their seed anew."""
        return rebuild(value, self._leaf)

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._tensor(value)
        if type(value) in _LEAVES and value != "cpu":
            return value
        if isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu"):
            return self._device
        if isinstance(value, torch.Generator):
            return torch.Generator(device=self._device).manual_seed(value.initial_seed())
        return value

    def _tensor(self, value: Tensor) -> Tensor:
        # Everything below is made of this one, so that nothing of it is differentiated.
        plain = value.detach()
        if plain.layout is not torch.strided or plain.is_nested:
            moved = plain.to(self._device, copy=True)
        else:
            moved = self._strided(plain)
        return moved.requires_grad_() if value.requires_grad else moved

    def _strided(self, value: Tensor) -> Tensor:
        """Copies whole storages, so that strides, overlaps and aliases stay what they were."""
        storage = value.untyped_storage()
        place = storage.data_ptr()
        key = (place, value.dtype)
        known = self._storages.get(key) if place else None
        if known is None:
            if _fills(value, storage):
                # Most tensors: alone in their memory and in order.
                self._storages[key] = moved = value.to(self._device, copy=True)
                return moved
            self._storages[key] = known = _flat(value).to(self._device, copy=True)
        return _view(known.view(-1), value)


def _fills(value: Tensor, storage: torch.UntypedStorage) -> bool:
    """Whether a tensor is all of its memory, in order and as it is written there."""
    whole = storage.nbytes() == value.nbytes and value.is_contiguous()
    return whole and not value.is_conj() and not value.is_neg()


def _flat(value: Tensor) -> Tensor:
    """All of a tensor's memory in order: the copy of it is one transfer, whatever the views of it are."""
    storage = value.untyped_storage()
    flat = torch.empty(0, dtype=value.dtype)
    return flat.set_(storage, 0, (storage.nbytes() // value.element_size(),), (1,))


def _view(flat: Tensor, like: Tensor) -> Tensor:
    """The view of copied memory that `like` is of its own."""
    seen = flat.as_strided(like.size(), like.stride(), like.storage_offset())
    if like.is_conj():
        seen = seen.conj()
    return torch._neg_view(seen) if like.is_neg() else seen


def to_cpu(value: Any) -> Any:
    """The nested value with its tensors on the CPU, without history."""
    return _to_cpu(value) if isinstance(value, Tensor) else rebuild(value, _to_cpu)


def _to_cpu(leaf: Any) -> Any:
    if not isinstance(leaf, Tensor):
        return leaf
    if leaf.requires_grad:
        leaf = leaf.detach()
    return leaf if leaf.is_cpu else leaf.cpu()


def tensors(value: Any) -> list[Tensor]:
    """All tensors of a nested value, in order."""
    if isinstance(value, Tensor):
        return [value]
    found: list[Tensor] = []

    def note(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            found.append(leaf)
        return leaf

    rebuild(value, note)
    return found
