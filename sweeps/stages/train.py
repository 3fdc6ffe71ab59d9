"""Mode `train`: the CPU's first training steps, then the device's: outputs, gradients and losses compared."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

import torch
from msgspec.structs import replace
from torch import Tensor

from conformance.classify import Proof
from conformance.outcomes import Attempt, Outcome, Phase, Stage
from sweeps.facts import Training
from sweeps.outputs import Difference, differences
from sweeps.stages import judging, moving, teacher
from sweeps.stages.calm import still
from sweeps.stages.eager import compared
from sweeps.stages.loop import OPTIMIZER, Loop
from sweeps.stages.reference import Reference, UnusableError, climb
from sweeps.stages.teacher import Taught
from sweeps.stages.trial import Trial

CURVE: Final[Mapping[str, float]] = {"float32": 1e-4, "bfloat16": 3e-2, "float16": 3e-2, "float64": 1e-10}
"""Relative L2 distance that the losses of all steps may have from the CPU's."""

MOST_DRIFT: Final = 2.5e-2
"""What the CPU's own rounding moves farther than that is neither right nor wrong."""

GRADIENT: Final[Mapping[str, float]] = {"float32": 1e-4, "bfloat16": 1e-1, "float16": 3e-2, "float64": 1e-10}
"""Relative L2 distance that the gradient of one parameter may have from the CPU's, beside rounding of the whole.

Measured on the CPU over 152 model types, the worst gradient of each: float32 is 5e-6 from float64 at the 95th
percentile, bfloat16 0.06 from float32 at the 90th, 0.15 at the 95th; float16 and float64 are chosen.
"""

ROUNDING: Final = "no more than rounding of the whole gradient"
"""Stands in the place of the worst element of a gradient that is right for that reason alone."""

_KEPT: Final = 20
"""Gradients kept with the facts, the worst ones; wrong ones are kept to ten times as many."""


def attempt(trial: Trial) -> Attempt:
    """Run a trial to its attempt: wrong at the first of outputs, gradients and losses that is."""
    made = trial.facts.train = Training(optimizer=dict(OPTIMIZER), steps=0)
    try:
        reference = climb(trial)
        taught = teacher.taught(trial, reference)
    except UnusableError as error:
        return judging.ended(trial, error.outcome, error.rule, message=str(error))
    made.loss, made.cpu, made.steps = taught.loss, numbers(taught.curve), len(taught.curve)
    try:
        found, allowed, of = _on_device(trial, reference, taught, made)
    except Exception as error:
        return judging.failed(trial, error)
    if not any(each.wrong for each in found):
        return judging.right(trial, _told(made), lambda proof: _steady(proof, made))
    if taught.draws and all(each.wrong.startswith("relative") for each in found if each.wrong):
        return judging.drawn(trial, found)
    return judging.wrong(trial, found, allowed, of)


Compared = tuple[list[Difference], float, str]
"""Differences, what was allowed of each, and what they are of."""


def _on_device(trial: Trial, reference: Reference, taught: Taught, made: Training) -> Compared:
    """The comparison that is wrong, or the last one."""
    loop, drifts = _moved(trial, reference, taught), cache(lambda: teacher.drifts(trial, reference, taught))
    for run in (_forward, _backward, _step):
        found, allowed, of = run(trial, loop, taught, made)
        if any(each.wrong.startswith("relative") for each in found):
            with trial.at(trial.stage):
                found = trial.timed(Phase.COMPARE, lambda: _no_worse_than_the_cpu(found, drifts(), made))  # noqa: B023
        if any(each.wrong for each in found):
            break
    return found, allowed, of


def _no_worse_than_the_cpu(found: list[Difference], drifts: Mapping[str, float], made: Training) -> list[Difference]:
    """What the CPU's own rounding does is allowed twice over: it has a share in both sides."""
    judged = []
    for each in found:
        drift = drifts.get(each.name, 0.0)
        # Losses that follow from gradients which rounding decides are decided by it as well.
        follows = each.name == "loss curve" and bool(made.unsteady)
        if not each.wrong.startswith("relative") or not (follows or each.relative <= 2 * drift):
            judged.append(each)
            continue
        judged.append(replace(each, wrong=""))
        if follows or drift > MOST_DRIFT:
            made.unsteady = (*made.unsteady, each.name)
        else:
            made.drift = max(made.drift, drift)
    return sorted(judged, key=lambda each: (not each.wrong, -each.relative))


def _apart(got: Sequence[float], want: Sequence[float], allowed: float) -> Difference:
    one, other = (torch.tensor(list(each)).double() for each in (got, want))
    return differences({"loss curve": one}, {"loss curve": other}, allowed)[0]


def _moved(trial: Trial, reference: Reference, taught: Taught) -> Loop:
    where = trial.device.device
    with trial.at(Stage.MOVE):
        trial.facts.untied = moving.to(reference.fresh, where)
        model = still(reference.fresh)
        arguments = teacher.arguments(reference, taught.loss, where, trial.dtype)
        trial.device.synchronize()
        loop = Loop(model=model, arguments=arguments, loss=taught.loss, device=where)
        trial.need_on_device("parameter", loop.values())
        loop.prepare()
    return loop


def _forward(trial: Trial, loop: Loop, taught: Taught, _made: Training) -> Compared:
    with trial.at(Stage.FORWARD):
        trial.tracked(loop.forward)
        trial.need_on_device("output", iter({**loop.results(), "training loss": loop.last}.items()))
    with trial.at(Stage.COMPARE):
        found = compared(trial, taught.answer, loop.answer())
    return found, trial.facts.allowed, "outputs"


def _backward(trial: Trial, loop: Loop, taught: Taught, made: Training) -> Compared:
    made.allowed_gradient = GRADIENT[_short(trial.dtype)]
    with trial.at(Stage.BACKWARD):
        trial.tracked(loop.backward)
        trial.need_on_device("gradient of", loop.graded())
        found = trial.timed(Phase.COMPARE, lambda: _compared(loop, taught, made, torch.finfo(trial.dtype).eps))
    made.gradients = len(found)
    made.roundings = sum(each.worst == ROUNDING for each in found)
    made.gradient = max((each.relative for each in found if each.worst != ROUNDING), default=0.0)
    made.worst = [each for number, each in enumerate(found) if number < _KEPT or (each.wrong and number < 10 * _KEPT)]
    return found, made.allowed_gradient, "gradients and buffers"


def _compared(loop: Loop, taught: Taught, made: Training, unit: float) -> list[Difference]:
    got = loop.gradients()
    made.without_gradient = tuple(
        name for name, _ in loop.parameters() if name not in got and name not in taught.gradients
    )
    found = gradients(got, taught.gradients, made.allowed_gradient, unit)
    made.buffers = tuple(name for name in taught.buffers if name in taught.moved)
    kept = {name: taught.buffers[name] for name in made.buffers}
    now = {name: each for name, each in loop.buffers().items() if name in kept}
    found += [_called("buffer", each) for each in differences(now, kept, made.allowed_gradient)]
    return sorted(found, key=lambda each: (not each.wrong, -each.relative))


def gradients(got: dict[str, Tensor], want: dict[str, Tensor], allowed: float, unit: float) -> list[Difference]:
    """Each gradient on both sides. What rounding leaves of one that is zero is as large as `unit` of them all."""
    whole = float(torch.stack([each.double().norm() for each in want.values()]).norm())
    return [_called("gradient of", _within(each, unit * whole)) for each in differences(got, want, allowed)]


def _within(found: Difference, rounding: float) -> Difference:
    if not found.wrong.startswith("relative"):
        return found
    distance = found.relative * found.cpu if found.cpu else found.device
    return replace(found, wrong="", worst=ROUNDING) if distance <= rounding else found


def _called(what: str, found: Difference) -> Difference:
    return replace(found, name=f"{what} {found.name}")


def _step(trial: Trial, loop: Loop, taught: Taught, made: Training) -> Compared:
    made.allowed_curve = CURVE[_short(trial.dtype)]
    with trial.at(Stage.STEP):
        trial.tracked(loop.step)
        trial.need_on_device("optimizer state", loop.state())
        trial.need_on_device("parameter", loop.values())
        curve: list[float] = trial.timed(Phase.EXECUTE_WARM, lambda: trial.tracked(lambda: loop.curve(made.steps)))
    made.device = numbers(curve)
    found = _apart(curve, taught.curve, made.allowed_curve)
    made.curve = found.relative
    return [found], made.allowed_curve, f"losses of {made.steps} steps"


def numbers(curve: Sequence[float]) -> list[float | None]:
    """Losses as JSON has them: None for what is no number."""
    return [each if math.isfinite(each) else None for each in curve]


def _steady(proof: Proof, made: Training) -> Proof:
    if not made.unsteady or proof.outcome not in (Outcome.PASS, Outcome.FALLBACK):
        return proof
    return Proof(outcome=Outcome.UNPROVEN, ran_on=proof.ran_on, rule="ill-conditioned")


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _told(made: Training) -> str:
    whose = "its own loss" if made.loss and made.loss.own else "a loss of its outputs"
    without = f", {len(made.without_gradient)} parameters without" if made.without_gradient else ""
    rounding = f", {made.roundings} of them mere rounding" if made.roundings else ""
    drift = f"; more is allowed where the CPU is {made.drift:.2g} off a wider dtype itself" if made.drift else ""
    if made.unsteady:
        drift += f"; the CPU's own rounding decides {', '.join(made.unsteady[:3])}, {len(made.unsteady)} in all"
    losses = f"{_shown(made.device[0])} to {_shown(made.device[-1])} in {made.steps} steps"
    return (
        f"{whose} {losses} of {made.optimizer['name']}, curves {made.curve:.2g} apart "
        f"(allowed {made.allowed_curve:g}); {made.gradients} gradients and buffers{without}, "
        f"{made.gradient:.2g} at most (allowed {made.allowed_gradient:g}){rounding}{drift}"
    )


def _shown(loss: float | None) -> str:
    return "no number" if loss is None else f"{loss:.4g}"
