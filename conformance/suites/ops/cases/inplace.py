"""In-place variants: the input afterwards is the CPU's, it is what is returned, and its memory is its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from conformance.suites.ops.compare import MismatchError
from conformance.suites.ops.samples import Call
from conformance.suites.ops.trial import Trial


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One call of the in-place variant and where its input was before."""

    call: Call
    variant: Callable[..., Any]
    before: int

    def run(self) -> Any:
        """Call the variant."""
        return self.call.on(self.variant)

    def kept_memory(self) -> bool:
        """Whether the input is where it was."""
        return memory(self.call.input) == self.before


def run(trial: Trial) -> None:
    """Raise unless the in-place variant does to each sample what it does on the CPU, a refusal included."""
    for call in trial.samples():
        device = _side(trial.move(call), trial)
        reference = _side(call.moved("cpu"), trial)
        both = trial.alike(reference.run, device.run)
        if both is not None:
            _check(trial, device, reference, *both)
            trial.see_computing(call, trial.op.inplace_variant)


def _side(call: Call, trial: Trial) -> Side:
    return Side(call=call, variant=trial.op.inplace_variant, before=memory(call.input))


def _check(trial: Trial, device: Side, reference: Side, got: Any, want: Any) -> None:
    if got is not device.call.input or want is not reference.call.input:
        trial.compare(got, want, reference.call)
    trial.compare(device.call.input, reference.call.input, reference.call)
    if want is reference.call.input and got is not device.call.input:
        raise MismatchError("the in-place variant does not return its input")
    if reference.kept_memory() and not device.kept_memory():
        raise MismatchError("the in-place variant moved its input to other memory")


def memory(value: Any) -> int:
    """Where a tensor's memory begins; 0 for anything else."""
    return value.untyped_storage().data_ptr() if isinstance(value, torch.Tensor) else 0
