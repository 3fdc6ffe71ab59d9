"""Building a model of a reduced configuration, its size bounded while it is built."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn.modules.module import register_module_buffer_registration_hook as on_buffer
from torch.nn.modules.module import register_module_parameter_registration_hook as on_parameter

from sweeps import configs
from sweeps.architectures import Architecture, model_class

MOST_ELEMENTS: Final = 80_000_000
"""Elements of parameters and buffers: 320 MB in float32, on each of two sides, and a copy while it is moved."""


class TooLargeError(Exception):
    """A reduced configuration describes more elements than are built."""


def model(
    architecture: Architecture, config: Mapping[str, Any], seed: int = 0, most: int | None = MOST_ELEMENTS
) -> Any:
    """The model on the CPU in float32, for evaluation, its weights drawn from `seed`; None as `most` for any size.

    Raises TooLargeError, ImportError for a missing library, and whatever the model's own code raises.
    """
    made, cls = configs.build(architecture.model_type, config), model_class(architecture)
    wanted = getattr(cls, "config_class", None)
    if isinstance(wanted, type) and not isinstance(made, wanted):
        made = next((each for each in vars(made).values() if isinstance(each, wanted)), made)
    torch.manual_seed(seed)
    with nullcontext() if most is None else _bounded(most):
        built = cls._from_config(made) if hasattr(cls, "_from_config") else cls(made)
    return built.eval()


@contextmanager
def _bounded(most: int) -> Iterator[None]:
    """Count elements as they are registered: memory is taken only when they are filled, which comes later."""
    seen = [0]

    def count(_module: Any, name: str, value: Tensor | None) -> None:
        seen[0] += 0 if value is None else value.numel()
        if seen[0] > most:
            raise TooLargeError(f"more than {most:,} elements, reached at {name!r}: reduced no further")

    hooks = [on_parameter(count), on_buffer(count)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def elements(built: Any) -> int:
    """Elements of a model's parameters."""
    return sum(each.numel() for each in built.parameters())
