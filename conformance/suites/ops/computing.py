"""Whether a call computes anything at all: views and metadata need no kernel, so nothing can be seen to execute."""

from collections.abc import Callable
from typing import Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.suites.ops.moving import tensors

NO_KERNEL: Final = frozenset(
    {
        "aten::empty", "aten::empty_like", "aten::empty_strided", "aten::empty_permuted", "aten::new_empty",
        "aten::new_empty_strided", "aten::resize_", "aten::resize_as_", "aten::set_", "aten::lift_fresh",
        "aten::is_same_size", "aten::sym_size", "aten::sym_stride", "aten::sym_numel", "aten::size", "aten::stride",
        "aten::is_contiguous", "aten::record_stream", "aten::_has_same_storage_numel", "aten::_nested_tensor_size",
        "aten::unsafe_split", "aten::unsafe_split_with_sizes", "aten::unsafe_chunk", "aten::_local_scalar_dense",
        "aten::_unsafe_view",
    }
)  # fmt: skip
"""Ops that allocate, read and change metadata, or carry one element to Python, without computing elements.

The unsafe ones are views whose schema does not say so.
"""


FOR_COMPLEX: Final = frozenset({"aten::conj_physical", "aten::conj_physical_", "aten::_conj_physical"})
"""Ops that give real tensors back as they are."""


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves __init_subclass__ untyped
    """Counts the ops below autograd that work on elements."""

    count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self.count += _works_on_elements(func, args) and _has_elements(result)
        return result


def _works_on_elements(func: Any, args: tuple[Any, ...]) -> bool:
    if func.namespace == "prim" or func.is_view or torch.Tag.inplace_view in func.tags:
        return False
    if func._schema.name in FOR_COMPLEX:
        return bool(args and args[0].dtype.is_complex)
    return func._schema.name not in NO_KERNEL


def _has_elements(result: Any) -> bool:
    found = tensors(result)
    return not found or any(each.numel() for each in found)


def computes(call: Callable[[], Any]) -> bool:
    """Run `call` on the CPU once more and tell whether any op in it works on elements.

    A call that raises is taken to compute: what it did cannot be known.
    """
    counter = _Counter()  # type: ignore[no-untyped-call]
    with counter:
        try:
            call()
        except Exception:
            return True
    return bool(counter.count)
