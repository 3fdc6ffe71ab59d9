"""Mode `compile`: the forward compiled for the device, cold in one process, then warm in another one."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
import torch._dynamo
from torch import Tensor

from conformance import classify
from conformance.outcomes import Attempt, Outcome, Phase, Stage
from conformance.suites.ops.staged import StagedBackend
from sweeps import building
from sweeps.configs import sentence
from sweeps.inputs import Inputs
from sweeps.inputs.filling import Given, tensors, values
from sweeps.outputs import Difference
from sweeps.stages import judging
from sweeps.stages.dynamo import CompiledFacts, Compiling, measured, traced_on_cpu
from sweeps.stages.eager import compared, moved
from sweeps.stages.reference import Reference, UnusableError, climb
from sweeps.stages.trial import SEED, Trial, answer, on

_PADDED: Final = 3
"""Tokens of the first row that the second call takes for padding.

Some models pass over their causal mask in eager mode when a mask is all ones, and build it when they are traced: only
a mask with a zero in it asks both for the same.
"""

_SHORTEST: Final = 120
"""Characters of why a graph broke in a message."""

Answer = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A model that has not run, the calls to make of it, and the CPU's answers to them."""

    reference: Reference
    calls: Sequence[Given]
    want: Answer


def cold(trial: Trial, *, simulated: bool) -> Attempt:
    """Compile into an empty cache, run, compare."""
    made = trial.facts.compiled = CompiledFacts()
    try:
        reference = climb(trial)
        with trial.at(Stage.REFERENCE):
            asked = _asked(trial, reference, made)
    except UnusableError as error:
        return judging.ended(trial, error.outcome, error.rule, message=str(error))
    made.cold = Compiling(modelled=simulated)
    stages = (Stage.COMPILE, Stage.COMPILED_FORWARD, Stage.COMPILED_COMPARE)
    return _judged(trial, asked, made.cold, Phase.COMPILE, stages)


def warm(trial: Trial, *, simulated: bool) -> Attempt:
    """Compile once more in a process that has not compiled, what the cold one left in the cache; run, compare."""
    made = trial.facts.compiled
    assert made is not None
    asked = _again(trial, made)
    made.warm = Compiling(modelled=simulated)
    return _judged(trial, asked, made.warm, Phase.COMPILE_WARM, (Stage.WARM,) * 3)


def _asked(trial: Trial, reference: Reference, made: CompiledFacts) -> Asked:
    calls, want = [reference.inputs.given], dict(reference.answer)
    padded = _padding(reference.inputs.given)
    if padded is None:
        made.unpadded = "it takes no mask of tokens"
        return Asked(reference=reference, calls=calls, want=want)
    try:
        want |= _named(1, _on_cpu(trial, reference.fresh, padded))
    except Exception as error:
        made.unpadded = f"the CPU refuses a padded mask: {sentence(error)}"
        return Asked(reference=reference, calls=calls, want=want)
    made.padded = True
    return Asked(reference=reference, calls=[*calls, padded], want=want)


def _again(trial: Trial, made: CompiledFacts) -> Asked:
    """What the cold process asked, made anew from its facts: they are all that it takes."""
    facts, signature = trial.facts, trial.signature
    model = building.model(signature.of, facts.config, SEED).to(trial.dtype)
    calls = [facts.inputs]
    if made.padded and (padded := _padding(facts.inputs)):
        calls.append(padded)
    want: Answer = {}
    for number, given in enumerate(calls):
        want |= _named(number, _on_cpu(trial, model, given))
    inputs = Inputs(given=facts.inputs, missing=frozenset(facts.missing), refused=facts.refused)
    reference = Reference(model=copy.deepcopy(model), fresh=model, inputs=inputs, answer=want, draws=False)
    return Asked(reference=reference, calls=calls, want=want)


def _padding(given: Given) -> Given | None:
    mask = given.get("attention_mask")
    if mask is None or len(mask.shape) != 2 or mask.shape[1] <= _PADDED:
        return None
    made = mask.tensor("attention_mask")
    if not bool((made == 1).all()):
        return None
    made[0, -_PADDED:] = 0
    return {**given, "attention_mask": values(made.tolist(), mask.dtype)}


def _on_cpu(trial: Trial, model: Any, given: Given) -> Answer:
    arguments = {name: on(each, "cpu", trial.dtype) for name, each in tensors(given).items()}
    torch.manual_seed(SEED)
    with torch.no_grad():
        return answer(copy.deepcopy(model)(**arguments))


def _named(number: int, found: Answer) -> Answer:
    return {f"padded: {name}": each for name, each in found.items()} if number else found


def _judged(trial: Trial, asked: Asked, made: Compiling, phase: Phase, stages: tuple[Stage, Stage, Stage]) -> Attempt:
    untouched = copy.deepcopy(asked.reference.fresh)
    try:
        got = _compiled(trial, asked, made, phase, stages)
        with trial.at(stages[2]):
            found = trial.timed(Phase.COMPARE, lambda: compared(trial, asked.want, got))
    except Exception as error:
        return _failed(trial, untouched, asked, error)
    if not any(each.wrong for each in found):
        return judging.right(
            trial,
            told(made, "cold" if phase is Phase.COMPILE else "warm"),
            lambda proof: classify.of_compiled(proof, made.nodes),
        )
    if judging.only_drawn(asked.reference, found):
        return judging.drawn(trial, found)
    return _wrong(trial, untouched, asked, got, found)


def _compiled(trial: Trial, asked: Asked, made: Compiling, phase: Phase, stages: tuple[Stage, Stage, Stage]) -> Answer:
    model, _ = moved(trial, asked.reference)
    backend = StagedBackend(
        compile=torch._dynamo.lookup_backend(trial.device.compile_backend),
        compiling=lambda: trial.enters(stages[0]), running=lambda: trial.enters(stages[1]),
    )  # fmt: skip
    function = torch.compile(model, backend=backend, dynamic=False)
    where = trial.device.device
    arguments = [{name: on(each, where, trial.dtype) for name, each in tensors(given).items()} for given in asked.calls]
    with trial.at(stages[0]):
        try:
            found = trial.tracked(lambda: _run(trial, function, arguments, backend, made))
        finally:
            trial.divide(stages[0], {phase: made.seconds, Phase.EXECUTE: made.executing})
    trial.need_on_device("output", iter(found.items()))
    return {name: each.cpu() for name, each in found.items()}


def _run(
    trial: Trial, function: Callable[..., Any], calls: Sequence[dict[str, Any]], backend: StagedBackend, made: Compiling
) -> Answer:
    found: Answer = {}
    with measured(made, backend, trial.device):
        for number, each in enumerate(calls):
            torch.manual_seed(SEED)
            found |= _named(number, answer(function(**each)))
    return found


def _failed(trial: Trial, model: Any, asked: Asked, error: Exception) -> Attempt:
    """A model that PyTorch cannot trace on the CPU either is no question to a backend."""
    attempt = judging.failed(trial, error)
    if attempt.outcome is not Outcome.ERROR:
        return attempt
    arguments = {name: on(each, "cpu", trial.dtype) for name, each in tensors(asked.calls[0]).items()}
    try:
        traced_on_cpu(model, arguments)
    except Exception as same:
        why = f"it cannot be traced on the CPU either: {sentence(classify.unwrap(same))}"
        return replace(attempt, outcome=Outcome.INVALID, rule="cannot-trace", message=why)
    return attempt


def _wrong(trial: Trial, model: Any, asked: Asked, got: Answer, found: Sequence[Difference]) -> Attempt:
    """Wrong beside the CPU's eager answer; right beside its traced one is the model's own doing."""
    bad = tuple(each.name for each in found if each.wrong)
    attempt = judging.wrong(trial, found, trial.facts.allowed)
    kept = trial.facts.differences
    traced: Answer = {}
    try:
        for number, given in enumerate(asked.calls):
            arguments = {name: on(each, "cpu", trial.dtype) for name, each in tensors(given).items()}
            traced |= _named(number, answer(traced_on_cpu(copy.deepcopy(model), arguments)))
    except Exception:
        return attempt
    again = compared(trial, traced, got)
    trial.facts.differences = kept
    if any(each.wrong for each in again) or trial.facts.compiled is None:
        return attempt
    trial.facts.compiled.traced = bad
    why = (
        f"right as the CPU answers when it is traced, which is not what it answers in eager mode: {', '.join(bad[:5])}"
    )
    return judging.ended(trial, Outcome.UNPROVEN, "traces-otherwise", message=why)


def told(made: Compiling, name: str) -> str:
    """One process's part of the message."""
    breaks = sum(made.breaks.values())
    broken = f" (first: {next(iter(made.breaks))[:_SHORTEST]})" if breaks else ""
    return (
        f"{name}: {len(made.graphs)} graphs of {made.nodes} nodes, {made.cached} of them from the cache, "
        f"{breaks} breaks{broken}, {len(made.recompiled)} recompilations, {made.seconds:.1f} s to trace and compile, "
        f"the compiler's {'modelled' if made.modelled else 'own'} time {made.backend_seconds:.2f} s"
    )
