"""Mode `eager`: build, the CPU's answer, move, forward on the device, compare."""

import itertools
from dataclasses import replace

import torch
from torch import Tensor

from conformance import classify
from conformance.outcomes import Attempt, Outcome, RanOn, Stage
from sweeps.inputs.filling import tensors
from sweeps.outputs import ALLOWED, Difference, differences
from sweeps.stages.reference import Reference, UnusableError, climb
from sweeps.stages.trial import SEED, Trial, answer, on


def attempt(trial: Trial) -> Attempt:
    """Run a trial to its attempt. Exceptions of the model and of the device become its outcome."""
    try:
        reference = climb(trial)
    except UnusableError as error:
        return ended(trial, error.outcome, error.rule, message=str(error))
    try:
        got = _on_device(trial, reference)
        with trial.at(Stage.COMPARE):
            wrong = _compared(trial, reference, got)
    except Exception as error:
        return failed(trial, error)
    return _judged(trial, reference, wrong)


def _on_device(trial: Trial, reference: Reference) -> dict[str, Tensor]:
    model, where = reference.fresh, trial.device.device
    with trial.at(Stage.MOVE):
        model.to(where)
        arguments = {name: on(each, where, trial.dtype) for name, each in tensors(reference.inputs.given).items()}
        trial.device.synchronize()
        trial.need_on_device("parameter", itertools.chain(model.named_parameters(), model.named_buffers()))
    with trial.at(Stage.FORWARD):
        got = answer(trial.tracked(lambda: model(**arguments)))
        trial.need_on_device("output", iter(got.items()))
        return {name: each.cpu() for name, each in got.items()}


def _compared(trial: Trial, reference: Reference, got: dict[str, Tensor]) -> list[Difference]:
    """The outputs that are wrong, worst first."""
    trial.facts.allowed = ALLOWED[str(trial.dtype).removeprefix("torch.")]
    found = differences(got, reference.answer, trial.facts.allowed)
    trial.facts.differences = sorted(found, key=lambda each: -each.relative)
    return [each for each in trial.facts.differences if each.wrong]


def _judged(trial: Trial, reference: Reference, wrong: list[Difference]) -> Attempt:
    if wrong and reference.draws and all(each.wrong.startswith("relative") for each in wrong) and _varies(reference):
        return ended(trial, Outcome.UNPROVEN, "draws-numbers", message=_drawn(wrong))
    if wrong:
        attempt = ended(trial, Outcome.FAIL, "assertion", message=_wrong(trial, wrong))
        return replace(
            attempt, cause=f"models: {wrong[0].name}: {wrong[0].wrong.partition(' ')[0]}", ran_on=trial.seen.ran_on
        )
    proof = classify.of_proof(
        tracks=trial.device.tracks, executed=trial.seen.executed, fallback=trial.seen.fallback,
        outputs_on_device=not trial.off_device, computes=True,
    )  # fmt: skip
    outcome, rule = proof.outcome, proof.rule
    if trial.facts.missing and outcome in (Outcome.PASS, Outcome.FALLBACK):
        outcome, rule = Outcome.UNPROVEN, "partial-inputs"
    return replace(ended(trial, outcome, rule, message=_right(trial)), ran_on=proof.ran_on)


def _varies(reference: Reference) -> bool:
    """Whether the CPU itself answers otherwise for another seed."""
    model = reference.model
    dtype = next((each.dtype for each in model.parameters()), torch.float32)
    made = {name: on(each, "cpu", dtype) for name, each in tensors(reference.inputs.given).items()}
    torch.manual_seed(SEED + 1)
    with torch.no_grad():
        other = answer(model(**made))
    return any(not torch.equal(each, other[name]) for name, each in reference.answer.items() if name in other)


def _drawn(wrong: list[Difference]) -> str:
    names = ", ".join(each.name for each in wrong[:5])
    return f"the answer depends on random numbers, which differ between devices: {names} cannot be compared"


def _wrong(trial: Trial, wrong: list[Difference]) -> str:
    worst = wrong[0]
    count = len(trial.facts.differences)
    return (
        f"{worst.name} is wrong: {worst.wrong} (allowed {trial.facts.allowed:g})\n"
        f"{len(wrong)} of {count} outputs; shape {list(worst.shape)}, norm {worst.device:.6g} on the device, "
        f"{worst.cpu:.6g} on the CPU; worst at {worst.worst}{_weakness(trial)}"
    )


def _right(trial: Trial) -> str:
    facts = trial.facts
    worst = max((each.relative for each in facts.differences), default=0.0)
    parts = [
        f"level {facts.level}, {facts.elements:,} parameters",
        f"relative L2 {worst:.2g} at most (allowed {facts.allowed:g}) over {len(facts.differences)} outputs",
    ]
    if facts.missing:
        parts.append(f"without its inputs for {', '.join(facts.missing)}: {facts.refused or 'no rule builds them'}")
    if trial.off_device:
        parts.append(trial.off_device)
    return "; ".join(parts) + _weakness(trial)


def _weakness(trial: Trial) -> str:
    notes = []
    if trial.facts.constant:
        notes.append(f"constant outputs: {', '.join(trial.facts.constant[:3])}")
    if trial.facts.discrete:
        notes.append(f"discrete choices: {', '.join(trial.facts.discrete)}")
    return "".join(f"; {each}" for each in notes)


def failed(trial: Trial, error: Exception) -> Attempt:
    """The attempt that an exception on the device ended."""
    verdict = classify.of_exception(error)
    message = f"{verdict.message}; {trial.off_device}" if trial.off_device else verdict.message
    return replace(
        ended(trial, verdict.outcome, verdict.rule, message=message), cause=verdict.cause, code=verdict.code,
        detail=verdict.detail, ran_on=trial.seen.ran_on,
    )  # fmt: skip


def ended(trial: Trial, outcome: Outcome, rule: str, message: str = "") -> Attempt:
    """An attempt with what the trial has seen."""
    return Attempt(
        outcome=outcome, rule=rule, ran_on=RanOn.NONE, stage=trial.stage, seconds=trial.phases(), message=message,
        fallback_ops=trial.seen.fallback_ops, reached=trial.seen.reached,
    )  # fmt: skip
