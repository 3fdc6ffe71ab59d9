"""Backward: gradients of every input that can have one, for fixed gradients of the outputs, beside the CPU's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from conformance.outcomes import Phase, Stage
from conformance.suites.ops.moving import Mover, rebuild, tensors
from conformance.suites.ops.samples import Call
from conformance.suites.ops.trial import Trial, unchanged


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
            # A copy too: tensors that samples take as views without history get gradients otherwise than leaves do.
            reference = Side(call=call.moved("cpu"), op=trial.op)
            _one(trial, device, reference)


def _one(trial: Trial, device: Side, reference: Side) -> None:
    call, process = reference.call, trial.differentiated(reference.call)
    wanted = trial.reference(reference.forward)
    if not differentiable(wanted) or not reference.inputs():
        trial.tried -= 1
        return
    drawn = trial.timed(Phase.SETUP, lambda: [_drawn(each) for each in _outputs(wanted, process)])
    want = trial.reference(lambda: reference.gradients(wanted, _cotangents(wanted, process, drawn)))
    result = trial.on_device(device.forward)
    trial.compare(result, wanted, call)
    cotangents = trial.timed(Phase.SETUP, lambda: _cotangents(rebuild(result, _on_cpu), process, drawn))
    moved = Mover(device=trial.device.device)(cotangents)
    trial.compare_gradients(trial.on_device(lambda: device.gradients(result, moved), Stage.BACKWARD), want, call)


def _outputs(result: Any, process: Callable[[Any], Any]) -> list[Tensor]:
    """The outputs for which gradients are drawn: where a result is not unique, of what is defined about it."""
    return differentiable(process(result))


def _cotangents(result: Any, process: Callable[[Any], Any], drawn: list[Tensor]) -> list[Tensor]:
    """The drawn gradients taken back, on the CPU, to the op's own outputs; themselves when these are all defined."""
    if process is unchanged:
        return drawn
    leaves = rebuild(result, _leaf)
    outputs = differentiable(leaves)
    found = torch.autograd.grad(_outputs(leaves, process), outputs, drawn, allow_unused=True)
    return [torch.zeros_like(leaf) if each is None else each for leaf, each in zip(outputs, found, strict=True)]


def _on_cpu(value: Any) -> Any:
    return value.detach().cpu().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value


def _leaf(value: Any) -> Any:
    return value.detach().requires_grad_() if isinstance(value, Tensor) and value.requires_grad else value


def _drawn(output: Tensor) -> Tensor:
    wide = torch.complex64 if output.dtype.is_complex else torch.float32
    drawn = torch.randn(output.shape, dtype=wide).to(output.dtype)
    return drawn if output.layout is torch.strided else rebuild(drawn, lambda each: each.to_sparse())
