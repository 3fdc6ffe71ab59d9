"""Backward: gradients of every input that can have one, for fixed gradients of the outputs, beside the CPU's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from conformance.outcomes import Phase, Stage
from conformance.suites.ops.moving import Mover, rebuild, tensors
from conformance.suites.ops.samples import Call
from conformance.suites.ops.trial import Trial


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One call whose outputs are to be differentiated."""

    call: Call
    op: Any

    def forward(self) -> Any:
        """The result with its history."""
        return self.call.on(self.op)

    def inputs(self) -> list[Tensor]:
        """The leaves to differentiate for, each once."""
        every = tensors((self.call.input, self.call.args, self.call.kwargs))
        return list({id(each): each for each in every if each.requires_grad}.values())

    def gradients(self, result: Any, cotangents: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
        """The gradient of each input; None for one that the outputs do not depend on."""
        return torch.autograd.grad(differentiable(result), self.inputs(), list(cotangents), allow_unused=True)


def differentiable(result: Any) -> list[Tensor]:
    """The tensors of a result that have a history."""
    return [each for each in tensors(result) if each.requires_grad]


def run(trial: Trial) -> None:
    """Raise unless outputs and gradients of every sample are the CPU's."""
    with torch.enable_grad():
        for call in trial.samples(requires_grad=True):
            device = Side(call=trial.move(call), op=trial.op)
            reference = Side(call=call, op=trial.op)
            _one(trial, device, reference)


def _one(trial: Trial, device: Side, reference: Side) -> None:
    wanted = trial.reference(reference.forward)
    if not differentiable(wanted) or not reference.inputs():
        trial.tried -= 1
        return
    cotangents = trial.timed(Phase.SETUP, lambda: _cotangents(wanted, reference.call))
    want = trial.reference(lambda: reference.gradients(wanted, cotangents))
    result = trial.on_device(device.forward)
    trial.compare(result, wanted, reference.call)
    moved = Mover(device=trial.device.device)(cotangents)
    trial.compare(trial.on_device(lambda: device.gradients(result, moved), Stage.BACKWARD), want, reference.call)


def _cotangents(result: Any, call: Call) -> list[Tensor]:
    """Gradients for the outputs, drawn at random.

    Where the op's result is not unique, only what PyTorch's own process function keeps of it has a defined gradient:
    the gradients are then drawn for that and taken back to the outputs on the CPU.
    """
    if call.process is None:
        return [_drawn(each) for each in differentiable(result)]
    leaves = rebuild(result, _leaf)
    outputs, processed = differentiable(leaves), differentiable(call.process(leaves))
    found = torch.autograd.grad(processed, outputs, [_drawn(each) for each in processed], allow_unused=True)
    return [torch.zeros_like(leaf) if each is None else each for leaf, each in zip(outputs, found, strict=True)]


def _leaf(value: Any) -> Any:
    return value.detach().requires_grad_() if isinstance(value, Tensor) and value.requires_grad else value


def _drawn(output: Tensor) -> Tensor:
    wide = torch.complex64 if output.dtype.is_complex else torch.float32
    drawn = torch.randn(output.shape, dtype=wide).to(output.dtype)
    return drawn if output.layout is torch.strided else rebuild(drawn, lambda each: each.to_sparse())
