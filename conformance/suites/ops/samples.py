"""Sample inputs of an OpInfo: generated on the CPU with a seed of the test's own, described for people."""

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy
import torch
from torch import Tensor

from conformance.suites.ops.moving import Mover, rebuild

LONGEST_DESCRIPTION: Final = 700
"""Characters of a sample's description kept in a message."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """Arguments of one call of an op. `process` takes outputs to what is defined about them (gauge freedom)."""

    index: int
    input: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    broadcasts_input: bool = False
    process: Callable[[Any], Any] | None = None

    def on(self, op: Callable[..., Any], **more: Any) -> Any:
        """Call `op` with these arguments."""
        return op(self.input, *self.args, **self.kwargs, **more)

    def moved(self, device: str, *, factory: bool = False, host: int | None = None) -> "Call":
        """A copy on the device, aliases among the arguments kept.

        `factory` adds `device=` to the keyword arguments; the positional argument of number `host` stays on the CPU.
        """
        mover = Mover(device=device)
        kept, args, kwargs = mover((self.input, self.args, self.kwargs))
        if factory:
            kwargs = {**kwargs, "device": torch.device(device)}
        if host is not None and host < len(args):
            args = (*args[:host], Mover(device="cpu")(self.args[host]), *args[host + 1 :])
        return self._with(kept, args, kwargs)

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Call":
        """These arguments with every tensor changed."""

        def leaf(value: Any) -> Any:
            return change(value) if isinstance(value, Tensor) else value

        return self._with(*rebuild((self.input, self.args, self.kwargs), leaf))

    def _with(self, kept: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Call":
        return Call(
            index=self.index, input=kept, args=args, kwargs=kwargs,
            broadcasts_input=self.broadcasts_input, process=self.process,
        )  # fmt: skip

    def describe(self) -> str:
        """Shapes, dtypes and strides of the tensors, and the other arguments, cut to a readable length."""
        parts = [describe(self.input), *map(describe, self.args)]
        parts += [f"{name}={describe(value)}" for name, value in self.kwargs.items()]
        text = ", ".join(parts)
        return text if len(text) <= LONGEST_DESCRIPTION else f"{text[:LONGEST_DESCRIPTION]} …"


def describe(value: Any) -> str:
    """One argument for people: `float32[2, 3]`, with strides where it is not contiguous."""
    if isinstance(value, Tensor):
        return _describe_tensor(value)
    if type(value) in _PLAIN:
        return repr(value)
    if isinstance(value, list | tuple):
        inner = ", ".join(map(describe, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {describe(each)}" for key, each in value.items()) + "}"
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    # Subclasses of plain types, as enumerations are.
    return repr(value) if isinstance(value, int | float | complex | str) else str(value)


_PLAIN: Final = frozenset({bool, int, float, complex, str, type(None)})


@cache
def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _describe_tensor(value: Tensor) -> str:
    text = f"{_name(value.dtype)}{list(value.shape)}"
    if value.layout is not torch.strided:
        return f"{text} {str(value.layout).removeprefix('torch.')}"
    if not value.is_contiguous():
        text += f" strides {tuple(value.stride())}"
    return text


def seed_of(key: str) -> int:
    """The seed of a test, from its identity: the same on every machine and in every process."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=4).digest(), "little")


def seed_all(seed: int) -> None:
    """Seed what sample generators draw from. Not torch.manual_seed: it also queues work for every accelerator."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)


def generate(op: Any, dtype: torch.dtype, seed: int, *, requires_grad: bool = False) -> Iterator[Call]:
    """The sample inputs of (op, dtype) on the CPU, one at a time.

    Each sample is the same whether or not the ones before it were run, so that one can be run alone.
    """
    seed_all(seed)
    # sample_inputs_func and not sample_inputs: the latter walks the call stack at every sample.
    made = op.sample_inputs_func(op, "cpu", dtype, requires_grad)
    for index, sample in enumerate(steady(made)):
        yield of_sample(index, sample)


def steady(made: Iterable[Any]) -> Iterator[Any]:
    """Iterate while the state of the CPU's generator is kept apart from what is done between the items."""
    rest, state = iter(made), torch.default_generator.get_state()
    while True:
        torch.default_generator.set_state(state)
        try:
            item = next(rest)
        except StopIteration:
            return
        state = torch.default_generator.get_state()
        yield item


def of_sample(index: int, sample: Any) -> Call:
    """Our view of PyTorch's SampleInput."""
    process = sample.output_process_fn_grad
    identity = getattr(process, "__qualname__", "").startswith("SampleInput.__init__")
    return Call(
        index=index, input=sample.input, args=tuple(sample.args), kwargs=dict(sample.kwargs),
        broadcasts_input=sample.broadcasts_input, process=None if identity else process,
    )  # fmt: skip
