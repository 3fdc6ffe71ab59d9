"""From what a trial has seen to its attempt: wrong, drawn, right with or without proof, or ended by an exception."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from conformance import classify
from conformance.classify import Proof
from conformance.outcomes import Attempt, Outcome, RanOn
from sweeps.inputs.filling import tensors
from sweeps.outputs import Difference
from sweeps.stages.reference import Reference
from sweeps.stages.trial import MEMORY, SEED, OutOfMemoryError, Trial, answer, on


def wrong(trial: Trial, found: Sequence[Difference], allowed: float, of: str = "outputs") -> Attempt:
    """The attempt at a model of which something is wrong, worst first among `found`."""
    bad = [each for each in found if each.wrong]
    ended_so = ended(trial, Outcome.FAIL, "assertion", message=_told(trial, bad, len(found), allowed, of))
    cause = f"models: {bad[0].name}: {bad[0].wrong.partition(' ')[0]}"
    return replace(ended_so, cause=cause, ran_on=trial.seen.ran_on)


def only_drawn(reference: Reference, found: Sequence[Difference]) -> bool:
    """Whether what is wrong may be the doing of random numbers, which differ between devices."""
    bad = [each for each in found if each.wrong]
    return reference.draws and all(each.wrong.startswith("relative") for each in bad) and _varies(reference)


def drawn(trial: Trial, found: Sequence[Difference]) -> Attempt:
    """The attempt at a model whose answer depends on random numbers."""
    names = ", ".join([each.name for each in found if each.wrong][:5])
    why = f"the answer depends on random numbers, which differ between devices: {names} cannot be compared"
    return ended(trial, Outcome.UNPROVEN, "draws-numbers", message=why)


def right(trial: Trial, told: str = "", further: Callable[[Proof], Proof] = lambda proof: proof) -> Attempt:
    """The attempt at a model that is right, with what that proves; `further` may know of less."""
    proof = further(classify.of_proof(
        tracks=trial.device.tracks, executed=trial.seen.executed, fallback=trial.seen.fallback,
        outputs_on_device=not trial.off_device, computes=True,
    ))  # fmt: skip
    outcome, rule = proof.outcome, proof.rule
    if trial.facts.missing and outcome in (Outcome.PASS, Outcome.FALLBACK):
        outcome, rule = Outcome.UNPROVEN, "partial-inputs"
    return replace(ended(trial, outcome, rule, message=_right(trial, told)), ran_on=proof.ran_on)


def failed(trial: Trial, error: Exception) -> Attempt:
    """The attempt that an exception on the device ended."""
    if isinstance(error, OutOfMemoryError):
        return replace(ended(trial, Outcome.ERROR, MEMORY, message=str(error)), cause=f"models: {MEMORY}")
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


def _varies(reference: Reference) -> bool:
    """Whether the CPU itself answers otherwise for another seed."""
    model = reference.model
    dtype = next((each.dtype for each in model.parameters()), torch.float32)
    made = {name: on(each, "cpu", dtype) for name, each in tensors(reference.inputs.given).items()}
    torch.manual_seed(SEED + 1)
    with torch.no_grad():
        other = answer(model(**made))
    return any(not torch.equal(each, other[name]) for name, each in reference.answer.items() if name in other)


def _told(trial: Trial, bad: Sequence[Difference], count: int, allowed: float, of: str) -> str:
    worst = bad[0]
    return (
        f"{worst.name} is wrong: {worst.wrong} (allowed {allowed:g})\n"
        f"{len(bad)} of {count} {of}; shape {list(worst.shape)}, norm {worst.device:.6g} on the device, "
        f"{worst.cpu:.6g} on the CPU; worst at {worst.worst}{_weakness(trial)}"
    )


def _right(trial: Trial, told: str) -> str:
    facts = trial.facts
    worst = max((each.relative for each in facts.differences), default=0.0)
    parts = [
        f"level {facts.level}, {facts.elements:,} parameters",
        f"relative L2 {worst:.2g} at most (allowed {facts.allowed:g}) over {len(facts.differences)} outputs",
        *([told] if told else []),
    ]
    if facts.missing:
        parts.append(f"without its inputs for {', '.join(facts.missing)}: {facts.refused or 'no rule builds them'}")
    if facts.untied:
        parts.append(f"moving took {len(facts.untied)} shared parameters apart, which were tied again")
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
