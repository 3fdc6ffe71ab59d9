"""Mode `eager`: build, the CPU's answer, move, forward on the device, compare."""

import itertools
from typing import Any

from torch import Tensor

from conformance.outcomes import Attempt, Stage
from sweeps.inputs.filling import tensors
from sweeps.outputs import ALLOWED, Difference, differences
from sweeps.stages import judging, moving
from sweeps.stages.reference import Reference, UnusableError, climb
from sweeps.stages.trial import Trial, answer, on


def attempt(trial: Trial) -> Attempt:
    """Run a trial to its attempt. Exceptions of the model and of the device become its outcome."""
    try:
        reference = climb(trial)
    except UnusableError as error:
        return judging.ended(trial, error.outcome, error.rule, message=str(error))
    try:
        got = _on_device(trial, reference)
        with trial.at(Stage.COMPARE):
            found = compared(trial, reference.answer, got)
    except Exception as error:
        return judging.failed(trial, error)
    if not any(each.wrong for each in found):
        return judging.right(trial)
    if judging.only_drawn(reference, found):
        return judging.drawn(trial, found)
    return judging.wrong(trial, found, trial.facts.allowed)


def _on_device(trial: Trial, reference: Reference) -> dict[str, Tensor]:
    model, arguments = moved(trial, reference)
    with trial.at(Stage.FORWARD):
        got = answer(trial.tracked(lambda: model(**arguments)))
        trial.need_on_device("output", iter(got.items()))
        return {name: each.cpu() for name, each in got.items()}


def moved(trial: Trial, reference: Reference) -> tuple[Any, dict[str, Any]]:
    """The model that has not run and its arguments, on the device."""
    model, where = reference.fresh, trial.device.device
    with trial.at(Stage.MOVE):
        trial.facts.untied = moving.to(model, where)
        arguments = {name: on(each, where, trial.dtype) for name, each in tensors(reference.inputs.given).items()}
        trial.device.synchronize()
        trial.need_on_device("parameter", itertools.chain(model.named_parameters(), model.named_buffers()))
    return model, arguments


def compared(trial: Trial, want: dict[str, Tensor], got: dict[str, Tensor]) -> list[Difference]:
    """Every output on both sides, worst first; kept with the facts."""
    trial.facts.allowed = ALLOWED[str(trial.dtype).removeprefix("torch.")]
    found = differences(got, want, trial.facts.allowed)
    trial.facts.differences = sorted(found, key=lambda each: -each.relative)
    return trial.facts.differences
