"""What `torch.neuron` is while the simulated device is active: torch_neuronx's names, over the simulator's library."""

import ctypes
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import torch
from torch.utils._python_dispatch import _disable_current_modes

from conformance.simulator import compiler, faults, library

simulated = True
"""No real backend has this name: code that must know asks for it."""


def is_available() -> bool:
    """Whether the device can be used: the simulated one always can."""
    return True


def is_initialized() -> bool:
    """Whether the runtime was started."""
    return True


def _is_in_bad_fork() -> bool:
    return False


def device_count() -> int:
    """Number of devices: one NeuronCore."""
    return 1


def current_device() -> int:
    """Index of the chosen device."""
    return 0


def set_device(index: object) -> None:
    """Choose a device; there is one."""
    if (index.index if isinstance(index, torch.device) else index) not in (None, 0):
        raise RuntimeError(f"invalid device ordinal {index}: this machine has one simulated NeuronCore, neuron:0")


def synchronize(_index: object = None) -> None:
    """Wait for the device. The simulated one has finished before an op returns; a poisoned one says so here."""
    faults.raise_if_poisoned()


def empty_cache() -> None:
    """Give unused device memory back; the simulated device keeps none."""


def clear_op_tracking() -> None:
    """Forget the executed and fallback ops and the compiled graphs."""
    library.load().call("clear")
    compiler.clear_metrics()
    faults.next_attempt()


def get_executed_ops() -> list[str]:
    """Names of the ops that ran on the device since the last clearing, sorted."""
    return sorted(library.load().names("executed"))


def get_fallback_ops() -> list[str]:
    """Names of the ops that ran on the CPU instead since the last clearing, sorted."""
    return sorted(library.load().names("fell_back"))


def get_dynamo_metrics() -> list[dict[str, object]]:
    """One dict a compiled graph: graph_name, num_nodes, lowering_time and compile_time in seconds, cache_hit."""
    return [each.as_dict() for each in compiler.metrics()]


def manual_seed(seed: int) -> None:
    """Seed the device's generator."""
    library.load().call("seed", seed % 2**64)


def manual_seed_all(seed: int) -> None:
    """Seed the generator of every device."""
    manual_seed(seed)


def initial_seed() -> int:
    """The seed that the generator was last given."""
    return library.load().call("initial_seed")


def get_rng_state(_device: object = "neuron") -> torch.Tensor:
    """State of the device's generator: a CPU tensor of bytes."""
    state = bytearray(library.load().bytes("get_rng_state"))
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        return torch.frombuffer(state, dtype=torch.uint8)


def set_rng_state(state: torch.Tensor, _device: object = "neuron") -> None:
    """Put back a state that `get_rng_state` gave."""
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        content = ctypes.string_at(state.contiguous().data_ptr(), state.numel())
    library.load().call("set_rng_state", content, len(content))


def get_amp_supported_dtype() -> Sequence[torch.dtype]:
    """The lower precisions that autocast may use on the device."""
    return [torch.bfloat16, torch.float16]


def reset() -> None:
    """Bring a poisoned device back, as NEURON_RT_RESET_CORES=1 does when the runtime starts."""
    faults.reset()


class device:  # noqa: N801 - the name that torch.neuron.device has on every backend
    """Context manager that chooses a device; there is one."""

    def __init__(self, index: object) -> None:
        self.index = index

    def __enter__(self) -> Self:
        if isinstance(self.index, int):
            set_device(self.index)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass
