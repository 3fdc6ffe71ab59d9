"""The CPU's answer: the first level of the ladder that builds and runs, with inputs that the model takes."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from conformance.outcomes import Outcome, Stage
from sweeps import building, configs, memory
from sweeps.building import TooLargeError
from sweeps.configs import sentence
from sweeps.inputs import Inputs, NoInputsError, found
from sweeps.inputs.filling import Given, tensors
from sweeps.outputs import constant, finite
from sweeps.reduce import Level, ladder, reduce
from sweeps.stages.trial import MEMORY, SEED, OutOfMemoryError, Trial, answer, on
from sweeps.watching import DISCRETE, RANDOM, Watched


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A model that ran on the CPU, its inputs and its answer, and the same model before it ran.

    `draws`: the answer depends on random numbers.
    """

    model: Any
    fresh: Any
    inputs: Inputs
    answer: dict[str, Tensor]
    draws: bool


class UnusableError(Exception):
    """No level of the ladder gives a reference: the question says nothing about any device."""

    def __init__(self, outcome: Outcome, rule: str, why: str) -> None:
        super().__init__(why)
        self.outcome, self.rule = outcome, rule


def climb(trial: Trial) -> Reference:
    """The first level that builds and runs on the CPU. Raises UnusableError with what each level came to."""
    last: UnusableError | None = None
    for level in ladder(trial.signature.level):
        try:
            return _bounded(trial, level)
        except UnusableError as error:
            trial.facts.tried[level.name] = str(error)
            # Later levels are bigger; what the first one failed with says most.
            last = last or error
            if error.rule in ("library", "too-large", MEMORY):
                break
    assert last is not None
    raise UnusableError(last.outcome, last.rule, "; ".join(f"{name}: {why}" for name, why in trial.facts.tried.items()))


def _bounded(trial: Trial, level: Level) -> Reference:
    try:
        return _at(trial, level)
    except OutOfMemoryError as error:
        raise UnusableError(Outcome.INVALID, MEMORY, str(error)) from error


def _at(trial: Trial, level: Level) -> Reference:
    with trial.at(Stage.BUILD):
        model = _built(trial, level)
    with trial.at(Stage.REFERENCE):
        # What a model keeps of its first run stays where that was: the device gets one that has not run.
        fresh, seen = copy.deepcopy(model), Watched()
        run = _runner(model, trial.dtype, seen)
        try:
            inputs, result = found(model, run)
        except NoInputsError as error:
            if memory.ran_out(error):
                raise
            raise UnusableError(Outcome.INVALID, "no-inputs", f"it takes no inputs: {error}") from error
        return _reference(trial, (model, fresh), inputs, answer(result), seen)


def _built(trial: Trial, level: Level) -> Any:
    made, signature = trial.facts, trial.signature
    try:
        if level.name == signature.level:
            made.config = dict(signature.reduced)
        else:
            made.config = configs.completed(signature.model_type, reduce(signature.full, level))
        model = building.model(signature.of, made.config, SEED)
    except ImportError as error:
        raise UnusableError(Outcome.SKIP_ENVIRONMENT, "library", _first_line(error)) from error
    except TooLargeError as error:
        raise UnusableError(Outcome.INVALID, "too-large", str(error)) from error
    except Exception as error:
        if memory.ran_out(error):
            raise
        raise UnusableError(Outcome.INVALID, "cannot-build", f"it cannot be built: {sentence(error)}") from error
    made.level, made.elements = level.name, building.elements(model)
    made.memory["parameters"] = sum(each.numel() * each.element_size() for each in model.parameters())
    return model.to(trial.dtype)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]


def _runner(model: Any, dtype: torch.dtype, seen: Watched) -> Callable[[Given], Any]:
    def run(given: Given) -> Any:
        made = {name: on(each, "cpu", dtype) for name, each in tensors(given).items()}
        torch.manual_seed(SEED)
        seen.clear()
        with torch.no_grad(), seen:
            return model(**made)

    return run


def _reference(
    trial: Trial, models: tuple[Any, Any], inputs: Inputs, got: dict[str, Tensor], seen: Watched
) -> Reference:
    made = trial.facts
    if not got:
        raise UnusableError(Outcome.INVALID, "no-outputs", "it gives no tensor")
    if not finite(got):
        raise UnusableError(Outcome.INVALID, "reference-not-finite", "the CPU's answer has no number in it")
    made.inputs, made.missing = inputs.given, tuple(sorted(inputs.missing))
    made.refused = inputs.refused if inputs.missing else ""
    made.ops, made.discrete = tuple(sorted(seen.names)), tuple(sorted(seen.names & DISCRETE))
    made.constant = tuple(constant(got))
    trial.record(made.level, seen.calls)
    return Reference(model=models[0], fresh=models[1], inputs=inputs, answer=got, draws=bool(seen.names & RANDOM))
