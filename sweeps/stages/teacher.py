"""The CPU's training: the loss that fits a model, and its first steps; what the device's are compared with."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from conformance.outcomes import Outcome, Stage
from sweeps import memory
from sweeps.configs import sentence
from sweeps.inputs.filling import tensors
from sweeps.outputs import differences, named
from sweeps.stages import losses
from sweeps.stages.calm import calm, still
from sweeps.stages.loop import Loop, steps_of
from sweeps.stages.losses import Loss
from sweeps.stages.reference import Reference, UnusableError
from sweeps.stages.trial import MEMORY, SEED, OutOfMemoryError, Trial, on
from sweeps.watching import RANDOM, Watched


@dataclass(frozen=True, kw_only=True, slots=True)
class Taught:
    """What the CPU came to: the first step's outputs, gradients and buffers, and the losses of all steps.

    `draws`: training depends on random numbers. `moved` are the buffers that the step changed.
    """

    loss: Loss
    answer: dict[str, Tensor]
    gradients: dict[str, Tensor]
    buffers: dict[str, Tensor]
    curve: list[float]
    draws: bool
    moved: frozenset[str]


def taught(trial: Trial, reference: Reference) -> Taught:
    """Train on the CPU. Raises UnusableError where a model cannot be trained there."""
    with trial.at(Stage.REFERENCE):
        try:
            return _taught(trial, reference)
        except UnusableError:
            raise
        except Exception as error:
            if memory.ran_out(error):
                raise UnusableError(Outcome.INVALID, MEMORY, str(OutOfMemoryError(Stage.REFERENCE))) from error
            raise cannot(f"it cannot be trained on the CPU: {sentence(error)}") from error


def cannot(why: str) -> UnusableError:
    """That a model cannot be trained on any device."""
    return UnusableError(Outcome.INVALID, "cannot-train", why)


def arguments(reference: Reference, loss: Loss, device: str, dtype: torch.dtype) -> dict[str, Any]:
    """What the model is called with in training."""
    given = {**tensors(reference.inputs.given), **loss.inputs()}
    return {name: on(each, device, dtype) for name, each in given.items()}


def drifts(trial: Trial, reference: Reference, taught: Taught) -> dict[str, float]:
    """How far the CPU itself is from the next wider dtype, by name as differences have it: a device may be too.

    Nothing where the CPU does not train in the wider one: some models have kernels for certain dtypes alone.
    """
    try:
        return _drifts(trial, reference, taught)
    except Exception:
        return {}


def _drifts(trial: Trial, reference: Reference, taught: Taught) -> dict[str, float]:
    dtype = torch.float64 if trial.dtype is torch.float32 else torch.float32
    loop = Loop(
        model=still(copy.deepcopy(reference.model).to(dtype)), loss=taught.loss, device="cpu",
        arguments=arguments(reference, taught.loss, "cpu", dtype),
    )  # fmt: skip
    loop.prepare()
    loop.forward()
    loop.backward()
    wide = {**loop.answer(), **_called("gradient of", loop.gradients()), **_called("buffer", loop.buffers())}
    loop.step()
    wide["loss curve"] = torch.tensor(loop.curve(len(taught.curve)))
    own = {**taught.answer, **_called("gradient of", taught.gradients), **_called("buffer", taught.buffers)}
    own["loss curve"] = torch.tensor(taught.curve)
    found = differences(_doubled(own), _doubled(wide), math.inf)
    return {each.name: each.relative for each in found}


def _doubled(found: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: each.double() for name, each in found.items() if not each.is_complex()}


def _called(what: str, found: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{what} {name}": each for name, each in found.items()}


def _taught(trial: Trial, reference: Reference) -> Taught:
    loss, draws = _loss(trial, reference)
    loop = Loop(
        model=still(copy.deepcopy(reference.fresh)), loss=loss, device="cpu",
        arguments=arguments(reference, loss, "cpu", trial.dtype),
    )  # fmt: skip
    loop.prepare()
    before = loop.buffers()
    loop.forward()
    loop.backward()
    answer, gradients, buffers = loop.answer(), loop.gradients(), loop.buffers()
    if not torch.isfinite(loop.last):
        raise cannot("its loss is not finite on the CPU")
    if not gradients:
        raise cannot("no parameter gets a gradient on the CPU")
    loop.step()
    return Taught(
        loss=loss, answer=answer, gradients=gradients, buffers=buffers,
        curve=loop.curve(steps_of(trial.facts.elements)),
        draws=draws and _varies(loop),
        moved=frozenset(name for name, each in buffers.items() if not _same(each, before.get(name))),
    )  # fmt: skip


def _loss(trial: Trial, reference: Reference) -> tuple[Loss, bool]:
    """The first loss that the model gives and that can be differentiated; whether it draws numbers on the way."""
    refused: Exception | None = None
    for labels in losses.labels(reference.fresh, reference.inputs.given, reference.answer):
        loss = Loss(own=True, labels=labels)
        try:
            result, draws = _tried(trial, reference, loss)
        except Exception as error:
            refused = refused or error
            continue
        if losses.own(result) is not None:
            return loss, draws
    result, draws = _tried(trial, reference, Loss(own=True))
    if losses.own(result) is not None:
        return Loss(own=True), draws
    if trial.facts.train is not None and refused is not None:
        trial.facts.train.refused = sentence(refused)
    return losses.of_outputs(result), draws


def _tried(trial: Trial, reference: Reference, loss: Loss) -> tuple[Any, bool]:
    seen = Watched()
    with calm(SEED), torch.enable_grad(), seen:
        result = still(copy.deepcopy(reference.fresh))(**arguments(reference, loss, "cpu", trial.dtype))
    return result, bool(seen.names & RANDOM)


def _varies(loop: Loop) -> bool:
    """Whether the CPU itself answers otherwise for another seed."""
    run: Callable[[], Any] = lambda: loop.model(**loop.arguments)  # noqa: E731
    with torch.no_grad():
        with calm(SEED):
            one = _flat(run())
        with calm(SEED + 1):
            other = _flat(run())
    return any(not torch.equal(each, other[name]) for name, each in one.items() if name in other)


def _flat(result: Any) -> dict[str, Tensor]:
    return dict(named(result))


def _same(one: Tensor, other: Tensor | None) -> bool:
    return other is not None and one.shape == other.shape and torch.equal(one, other)
