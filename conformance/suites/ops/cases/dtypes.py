"""Dtypes: those that the backend claims for an op against those that work, by the first sample inputs of each."""

import itertools
from collections.abc import Iterator
from typing import Any, Final

import torch

from conformance import codes
from conformance.outcomes import Phase
from conformance.suites.ops import catalogue, samples
from conformance.suites.ops.compare import MismatchError
from conformance.suites.ops.samples import Call
from conformance.suites.ops.trial import Refused, Trial, attempted, first_line

SAMPLES: Final = 2
"""Sample inputs tried of each dtype: whether a dtype works at all shows on the first ones."""

EVERY: Final = (
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
    torch.float32, torch.float64, torch.complex32, torch.complex64, torch.complex128,
)  # fmt: skip
"""The dtypes that are tried for every op, claimed or not."""


def run(trial: Trial) -> None:
    """Raise MismatchError when a claimed dtype that works on the CPU is refused by the device.

    A dtype that works without being claimed is no failure; it is named in the trial's note.
    """
    refused: dict[str, str] = {}
    unclaimed: list[str] = []
    for dtype in _tried(trial):
        name = catalogue.short(dtype)
        why = _refusal(trial, dtype)
        if name in trial.claimed and why:
            refused[name] = why
        elif name not in trial.claimed and why == "":
            unclaimed.append(name)
    trial.sample = None
    if refused:
        told = "; ".join(f"{name}: {why}" for name, why in refused.items())
        raise MismatchError(f"claimed but refused: {', '.join(refused)}\n{told}")
    if unclaimed:
        trial.note = f"works without being claimed: {', '.join(unclaimed)}"


def _tried(trial: Trial) -> list[torch.dtype]:
    claimed = trial.op.supported_dtypes("cpu")
    return [*EVERY, *sorted((each for each in claimed if each not in EVERY), key=str)]


def _refusal(trial: Trial, dtype: torch.dtype) -> str | None:
    """Why the device refuses the dtype; "" when it does not, None when the CPU cannot tell."""
    asked = False
    for call in trial.chosen(_first(trial, dtype)):
        reference = call.moved("cpu")
        if isinstance(attempted(lambda: reference.on(trial.op)), Refused):  # noqa: B023  # called at once
            continue
        asked = True
        got = _answer(trial, call, watched=catalogue.short(dtype) in trial.claimed)
        if isinstance(got, Refused):
            if codes.is_infra(str(got.error)):
                raise got.error
            return f"{type(got.error).__name__}: {first_line(got.error)}"
    return "" if asked else None


def _answer(trial: Trial, call: Call, *, watched: bool) -> Any:
    """The device's answer or refusal. Where the ops of an unclaimed dtype ran says nothing about the claim."""

    moved = trial.move(call)

    def run() -> Any:
        return attempted(lambda: moved.on(trial.op))

    if not watched:
        got = trial.timed(Phase.EXECUTE, run)
        trial.device.synchronize()
        return got
    got = trial.on_device(run)
    trial.see_computing(call, trial.op)
    return got


def _first(trial: Trial, dtype: torch.dtype) -> Iterator[Call]:
    """The first samples of a dtype; none where PyTorch's own generator cannot make them."""
    made = samples.generate(trial.op, dtype, samples.seed_of(f"{trial.key}::{dtype}"))
    found = attempted(lambda: list(itertools.islice(made, SAMPLES)))
    return iter([] if isinstance(found, Refused) else found)
