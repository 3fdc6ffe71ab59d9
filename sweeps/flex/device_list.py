"""PyTorch's own list of devices for FlexAttention: recognising its refusal, and extending it for one process."""

import traceback
from collections.abc import Callable
from typing import Any, Final

from torch import Tensor
from torch.nn.attention import flex_attention as module

from conformance.errors import UsageError

RULE: Final = "flex-device-list"
"""FlexAttention was refused because the device is not on the list, before anything was asked of the device."""

_NAME: Final = "_validate_device"
"""The function of torch.nn.attention.flex_attention that has the list; torch 2.13 has cuda, cpu, xpu, hpu and mps."""

_CHECK: Final[Callable[[Tensor, Tensor, Tensor], None] | None] = getattr(module, _NAME, None)


def extend(device: str) -> None:
    """Let tensors of that type of device pass the check in this process; all others are checked as before.

    Raises UsageError when the installed torch has no such check.
    """
    check = _CHECK
    if check is None:
        raise UsageError(
            f"the installed torch has no {module.__name__}.{_NAME} to extend: leave --extend-flex-devices out"
        )

    def extended(query: Tensor, key: Tensor, value: Tensor) -> None:
        if query.device.type != device:
            check(query, key, value)

    setattr(module, _NAME, extended)


def restore() -> None:
    """The list as PyTorch has it."""
    if _CHECK is not None:
        setattr(module, _NAME, _CHECK)


def refuses_device(error: BaseException) -> bool:
    """Whether an exception is that check's about the type of device: told by where it was raised, not by its text."""
    return isinstance(error, ValueError) and _raised_by_check(error)


def refuses_backward(error: BaseException) -> bool:
    """Whether it is that check's about gradients on a device of the list that has none."""
    return isinstance(error, NotImplementedError) and _raised_by_check(error)


def _raised_by_check(error: BaseException) -> bool:
    code: Any = getattr(_CHECK, "__code__", None)
    frames = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1] is code
