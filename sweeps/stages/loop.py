"""A few training steps on one side: forward, loss, backward, optimizer, as a user writes them."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor

from sweeps.outputs import named
from sweeps.stages.calm import calm
from sweeps.stages.losses import Loss
from sweeps.stages.trial import SEED

STEPS: Final = 10
"""Steps of the loss curve."""

FEW_STEPS: Final = 3
"""Steps of a model of more than LARGE elements: those of a bigger level would take minutes."""
LARGE: Final = 10_000_000

OPTIMIZER: Final[Mapping[str, Any]] = {"name": "AdamW", "lr": 1e-3, "eps": 1e-6, "weight_decay": 0.01}
"""The optimizer, with those of PyTorch's options that are given; the rest is PyTorch's default.

With its own `eps` of 1e-8 a gradient that is zero but for rounding still moves a parameter, in a direction of chance.
"""


def steps_of(elements: int) -> int:
    """How many steps a model of so many elements takes."""
    return STEPS if elements <= LARGE else FEW_STEPS


@dataclass(kw_only=True, slots=True, eq=False, repr=False)
class Loop:
    """A model in training on a device with its arguments; the targets of a loss of outputs are made on the way."""

    model: Any
    arguments: Mapping[str, Any]
    loss: Loss
    device: str
    optimizer: Any = None
    result: Any = None
    targets: dict[str, Tensor] = field(default_factory=dict)
    last: Any = None

    def prepare(self) -> None:
        """Make the optimizer: after the parameters are where they are to be. Raises ValueError without parameters."""
        trained = [each for each in self.model.parameters() if each.requires_grad]
        if not trained:
            raise ValueError("no parameter is trained")
        options = {name: value for name, value in OPTIMIZER.items() if name != "name"}
        self.optimizer = getattr(torch.optim, OPTIMIZER["name"])(trained, **options)

    def forward(self) -> None:
        """The model's result and its loss. Nothing is dropped; chance is seeded alike on both sides."""
        with calm(SEED), torch.enable_grad():
            self.result = self.model(**self.arguments)
            if self.loss.outputs and not self.targets:
                self.targets = {name: each.to(self.device) for name, each in self.loss.targets(self.result).items()}
            self.last = self.loss.of(self.result, self.targets)

    def backward(self) -> None:
        """The gradients of the last loss."""
        with calm(SEED), torch.enable_grad():
            self.last.backward()

    def step(self) -> None:
        """The optimizer's step; gradients are forgotten."""
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def curve(self, steps: int) -> list[float]:
        """The last loss and those of further steps, `steps` in all."""
        found = [float(self.last.detach().cpu())]
        for _ in range(steps - 1):
            self.forward()
            found.append(float(self.last.detach().cpu()))
            self.backward()
            self.step()
        return found

    def answer(self) -> dict[str, Tensor]:
        """The last result and loss, on the CPU."""
        return {**_copied(named(self.result)), "training loss": self.last.detach().cpu()}

    def results(self) -> dict[str, Tensor]:
        """The last result's tensors."""
        return dict(named(self.result))

    def graded(self) -> Iterator[tuple[str, Tensor]]:
        """Gradients of the parameters that have one."""
        return ((name, each.grad) for name, each in self.parameters() if each.grad is not None)

    def gradients(self) -> dict[str, Tensor]:
        """Gradients of the parameters that have one, on the CPU."""
        return _copied((name, _dense(each)) for name, each in self.graded())

    def buffers(self) -> dict[str, Tensor]:
        """Buffers, on the CPU: statistics of batches are among them."""
        return _copied(self.model.named_buffers())

    def parameters(self) -> list[tuple[str, Any]]:
        """Those that are trained, by name."""
        return [(name, each) for name, each in self.model.named_parameters() if each.requires_grad]

    def state(self) -> Iterator[tuple[str, Tensor]]:
        """What the optimizer keeps of each parameter; counts of steps are PyTorch's on the CPU unless it is fused."""
        kept: Callable[[Any], Any] = self.optimizer.state.get
        for name, each in self.parameters():
            for part, value in (kept(each) or {}).items():
                if isinstance(value, Tensor) and part != "step":
                    yield f"{part} of {name}", value

    def values(self) -> Iterator[tuple[str, Tensor]]:
        """Parameters and buffers."""
        return itertools.chain(self.model.named_parameters(), self.model.named_buffers())


def _dense(gradient: Tensor) -> Tensor:
    return gradient if gradient.layout is torch.strided else gradient.to_dense()


def _copied(found: Iterator[tuple[str, Tensor]]) -> dict[str, Tensor]:
    return {name: each.detach().to("cpu", copy=True) for name, each in found}
