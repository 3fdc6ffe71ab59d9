"""What a test may leave changed in torch: defaults, flags, modes that are still entered."""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, Final

import torch

from conformance.pytest_hooks.isolation.configs import CONFIGS, config
from conformance.pytest_hooks.isolation.facets import Facet

_C: Any = torch._C

FLAGS: Final[Mapping[str, tuple[str, str]]] = {
    "float32_matmul_precision": ("_get_float32_matmul_precision", "_set_float32_matmul_precision"),
    "cudnn.enabled": ("_get_cudnn_enabled", "_set_cudnn_enabled"),
    "cudnn.benchmark": ("_get_cudnn_benchmark", "_set_cudnn_benchmark"),
    "cudnn.deterministic": ("_get_cudnn_deterministic", "_set_cudnn_deterministic"),
    "cudnn.allow_tf32": ("_get_cudnn_allow_tf32", "_set_cudnn_allow_tf32"),
    "cuda.matmul.allow_tf32": ("_get_cublas_allow_tf32", "_set_cublas_allow_tf32"),
    "mkldnn.enabled": ("_get_mkldnn_enabled", "_set_mkldnn_enabled"),
    "nnpack.enabled": ("_get_nnpack_enabled", "_set_nnpack_enabled"),
    "flash_sdp": ("_get_flash_sdp_enabled", "_set_sdp_use_flash"),
    "mem_efficient_sdp": ("_get_mem_efficient_sdp_enabled", "_set_sdp_use_mem_efficient"),
    "math_sdp": ("_get_math_sdp_enabled", "_set_sdp_use_math"),
    "warn_always": ("_get_warnAlways", "_set_warnAlways"),
    "autograd_multithreading": ("_is_multithreading_enabled", "_set_multithreading_enabled"),
}
"""Switches of torch._C by name: how each is read and set. What a build of torch lacks is left out.

The precision stands first: it sets the two switches that follow from it.
"""

_PRINTING: Final = ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")
_KEPT: list[Any] = []
"""Guards that hold inference mode off; leaving one would turn it on again."""


def facets(device: str) -> tuple[Facet, ...]:
    """The pieces, in the order in which they are put back; autocast is that of the CPU and of `device`."""
    return (
        Facet(name="default_dtype", read=torch.get_default_dtype, put_back=torch.set_default_dtype),
        Facet(name="default_device", read=_device, put_back=torch.set_default_device),
        Facet(name="function_modes", read=_C._len_torch_function_stack, tell=_more,
              put_back=lambda depth: _pop_to(depth, _C._len_torch_function_stack, _C._pop_torch_function_stack)),
        Facet(name="dispatch_modes", read=_C._len_torch_dispatch_stack, tell=_more,
              put_back=lambda depth: _pop_to(depth, _C._len_torch_dispatch_stack, _pop_dispatch_mode)),
        Facet(name="functorch_levels", read=_C._functorch.get_dynamic_layer_stack_depth, tell=_more,
              put_back=_C._functorch.pop_dynamic_layer_stack_and_undo_to_depth),
        Facet(name="dual_levels", read=_dual_level, tell=_more, put_back=_leave_dual_levels),
        Facet(name="inference_mode", read=torch.is_inference_mode_enabled, put_back=_put_inference),
        Facet(name="grad_mode", read=torch.is_grad_enabled, put_back=_C._set_grad_enabled),
        Facet(name="anomaly_mode", read=_anomaly, put_back=lambda kept: torch.set_anomaly_enabled(*kept)),
        Facet(name="deterministic_algorithms", read=_deterministic, put_back=_put_deterministic),
        *(_flag(name, *names) for name, names in FLAGS.items() if all(hasattr(_C, each) for each in names)),
        _autocast(("cpu", device)),
        Facet(name="num_threads", read=torch.get_num_threads, put_back=torch.set_num_threads),
        Facet(name="print_options", read=_printing, put_back=_put_printing),
        *(config(name) for name in CONFIGS),
    )  # fmt: skip


def _device() -> Any:
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if context is None else context.device


def _more(before: int, after: int) -> str:
    return f"{after - before} still entered" if after > before else f"{before - after} left that another entered"


def _pop_to(depth: int, length: Callable[[], int], pop: Callable[[], object]) -> None:
    while length() > depth:
        pop()


def _pop_dispatch_mode() -> None:
    from torch.utils._python_dispatch import _pop_mode

    _pop_mode()


def _dual_level() -> int:
    level: int = torch.autograd.forward_ad._current_level
    return level


def _leave_dual_levels(before: int) -> None:
    ways: Any = torch.autograd.forward_ad
    _pop_to(before, _dual_level, ways.exit_dual_level)


def _put_inference(before: bool) -> None:
    guard = _C._InferenceMode(before)
    guard.__enter__()
    _KEPT.append(guard)


def _anomaly() -> tuple[bool, bool]:
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


def _deterministic() -> tuple[bool, bool, bool]:
    return (
        _C._get_deterministic_algorithms(), _C._get_deterministic_algorithms_warn_only(),
        _C._get_deterministic_fill_uninitialized_memory(),
    )  # fmt: skip


def _put_deterministic(before: tuple[bool, bool, bool]) -> None:
    torch.use_deterministic_algorithms(before[0], warn_only=before[1])
    _C._set_deterministic_fill_uninitialized_memory(before[2])


def _flag(name: str, read: str, write: str) -> Facet:
    reading = getattr(_C, read)

    def value() -> Any:
        try:
            return reading()
        except RuntimeError:  # torch refuses to tell while old and new ways to set precision are mixed
            return None

    return Facet(name=name, read=value, put_back=getattr(_C, write))


def _autocast(devices: Iterable[str]) -> Facet:
    known = [each for each in dict.fromkeys(devices) if _has_autocast(each)]

    def read() -> tuple[Any, ...]:
        states = [(torch.is_autocast_enabled(each), torch.get_autocast_dtype(each)) for each in known]
        return *chain.from_iterable(states), torch.is_autocast_cache_enabled()

    def put_back(before: tuple[Any, ...]) -> None:
        for each, enabled, dtype in zip(known, before[0::2], before[1::2], strict=False):
            torch.set_autocast_enabled(each, enabled)
            torch.set_autocast_dtype(each, dtype)
        torch.set_autocast_cache_enabled(before[-1])
        torch.clear_autocast_cache()

    return Facet(name="autocast", read=read, put_back=put_back)


def _has_autocast(device: str) -> bool:
    try:
        torch.is_autocast_enabled(device)
        torch.get_autocast_dtype(device)
    except RuntimeError:
        return False
    return True


def _options() -> Any:
    return torch._tensor_str.PRINT_OPTS


def _printing() -> tuple[Any, ...]:
    found = _options()
    return tuple([getattr(found, each, None) for each in _PRINTING])


def _put_printing(before: tuple[Any, ...]) -> None:
    for name, value in zip(_PRINTING, before, strict=True):
        setattr(_options(), name, value)
