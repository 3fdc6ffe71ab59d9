"""Models on the meta device at any width, without memory: values that do not come from weights stay known.

Code of models asks for values: sizes of images, places of placeholders, whether a mask hides anything. Small tensors
that follow from given ones alone are therefore computed for real beside their meta twin. Where a model asks for a value
that weights decide, it gets a stand-in: ones.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter, tree_map_only

MOST_KNOWN: Final = 1 << 20
"""Elements of a tensor whose values are followed; a table of positions or a mask has fewer."""

_KNOWN: Final = "_conformance_known"
_MADE: Final = frozenset(
    {"aten::empty", "aten::empty_like", "aten::new_empty", "aten::empty_strided", "aten::empty_permuted"}
)
_FILLED: Final = frozenset({"aten::fill_", "aten::zero_", "aten::copy_"})
_GROUPED: Final = "aten::_grouped_mm"
_DATA: Final = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)
_INDEXED: Final = frozenset(
    {"aten::index", "aten::index_put", "aten::index_put_", "aten::_unsafe_index", "aten::_index_put_impl_"}
)


class Meta(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves __init_subclass__ untyped
    """Calls each op on the meta device. `ops` has the overloads that were called since it was emptied."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ops: set[str] = set()
        self._lost: dict[int, Any] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.ops.add(str(func))
        kwargs = kwargs or {}
        if not any(each.is_meta for each in _tensors((args, kwargs))) and not _on_meta(kwargs):
            return func(*args, **kwargs)
        name = func._schema.name
        if name in _INDEXED:
            args = (args[0], self._by_number(args[1]), *args[2:])
        if _needs_values(func, kwargs):
            return self._twins(self._real(func, args, kwargs, guess=True), kwargs)
        try:
            made = (_grouped if name == _GROUPED else func)(*_moved(args), **_moved(kwargs))
        except NotImplementedError:
            return self._twins(self._real(func, args, kwargs, guess=True), kwargs)
        self._follow(func, args, kwargs, made)
        return made

    def value(self, tensor: Tensor, *, guess: bool = False) -> Tensor | None:
        """The values of a tensor, on the CPU; a stand-in of ones if they are not known and one will do."""
        known: Tensor | None = getattr(tensor, _KNOWN, None) if tensor.is_meta else tensor
        if known is not None and known.untyped_storage()._cdata in self._lost:
            known = None
        return torch.ones(tensor.shape, dtype=tensor.dtype) if known is None and guess else known

    def _real(self, func: Any, args: Any, kwargs: dict[str, Any], *, guess: bool) -> Any:
        args, kwargs = tree_map_only(Tensor, lambda each: self.value(each, guess=guess), (args, kwargs))
        return func(*args, **({**kwargs, "device": "cpu"} if "device" in kwargs else kwargs))

    def _follow(self, func: Any, args: Any, kwargs: dict[str, Any], made: Any) -> None:
        """Compute for real beside what was made of known values; forget what was overwritten with unknown ones."""
        name, given = func._schema.name, list(_tensors((args, kwargs)))
        if name in _FILLED and self.value(given[0]) is None:
            known = torch.zeros(given[0].shape, dtype=given[0].dtype) if given[0].numel() <= MOST_KNOWN else None
            setattr(given[0], _KNOWN, known)
        outside = [each for each in _tensors(made) if all(each is not one for one in given)]
        small = all(each.numel() <= MOST_KNOWN for each in (*given, *outside))
        if name in _MADE or not small or any(self.value(each) is None for each in given):
            self._forget(func, args, kwargs)
            return
        try:
            real = self._real(func, args, kwargs, guess=False)
        except RuntimeError:
            # The CPU has no kernel for what the device would do: the value is unknown, not wrong.
            self._forget(func, args, kwargs)
            return
        for twin, each in zip(_tensors(made), _tensors(real), strict=True):
            setattr(twin, _KNOWN, each)

    def _forget(self, func: Any, args: Any, kwargs: dict[str, Any]) -> None:
        for at, argument in enumerate(func._schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            value = args[at] if at < len(args) else kwargs.get(argument.name)
            for each in _tensors(value):
                known = getattr(each, _KNOWN, None)
                if known is not None:
                    self._lost[known.untyped_storage()._cdata] = known

    def _twins(self, real: Any, kwargs: dict[str, Any]) -> Any:
        """Meta tensors with known values; what was asked for on the CPU stays there."""
        if str(kwargs.get("device", "")) == "cpu":
            return real
        return tree_map_only(Tensor, _twin, real)

    def _by_number(self, indices: Any) -> list[Any]:
        """Masks among indices as the numbers of their true elements."""
        made: list[Any] = []
        for each in indices:
            if isinstance(each, Tensor) and each.dtype in (torch.bool, torch.uint8):
                value = self.value(each, guess=True)
                assert value is not None
                made += [_twin(one) for one in value.nonzero(as_tuple=True)]
            else:
                made.append(each)
        return made


def _grouped(left: Tensor, right: Tensor, offsets: Tensor | None = None, *_: Any, **named: Any) -> Tensor:
    """Products of groups by shape alone: the meta kernel has the demands of one kind of device, bfloat16 among them."""
    offsets = named.get("offs", offsets)
    groups = () if offsets is None or left.dim() + right.dim() == 5 else (len(offsets),)
    groups = (left.shape[0],) if left.dim() == right.dim() == 3 else groups
    return left.new_empty((*groups, left.shape[-2], right.shape[-1]), dtype=named.get("out_dtype") or left.dtype)


class _Constants(TorchFunctionMode):
    """Tensors made from Python's numbers: the meta device alone would drop these."""

    def __init__(self, mode: Meta) -> None:
        super().__init__()
        self._mode = mode

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in (torch.tensor, torch.as_tensor, torch.asarray) and _on_meta(kwargs):
            data = tree_map_only(Tensor, lambda each: self._mode.value(each, guess=True), args)
            return _twin(func(*data, **{**kwargs, "device": "cpu"}))
        return func(*args, **kwargs)


def _twin(real: Tensor) -> Tensor:
    made = real.to("meta")
    if real.numel() <= MOST_KNOWN:
        setattr(made, _KNOWN, real)
    return made


def _tensors(value: Any) -> Iterator[Tensor]:
    return (each for each in tree_iter(value) if isinstance(each, Tensor))


def _on_meta(kwargs: dict[str, Any]) -> bool:
    return kwargs.get("device") is not None and torch.device(kwargs["device"]).type == "meta"


def _needs_values(func: Any, kwargs: dict[str, Any]) -> bool:
    away = kwargs.get("device") is not None and not _on_meta(kwargs)
    return away or (func._schema.name not in _INDEXED and any(tag in func.tags for tag in _DATA))


def _moved(value: Any) -> Any:
    return tree_map_only(Tensor, lambda each: each if each.is_meta else _twin(each), value)


@contextmanager
def entered() -> Iterator[Meta]:
    """The mode; tensors that are made without a device stay on the CPU, as in a model's forward."""
    mode = Meta()
    with _Constants(mode), mode:
        yield mode


def given(made: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a model on the meta device, their values known."""
    return {
        name: [_twin(one) for one in each] if isinstance(each, list) else _twin(each) for name, each in made.items()
    }
