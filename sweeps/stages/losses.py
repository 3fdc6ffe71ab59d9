"""What a training step minimises: the model's own loss where the class takes labels, else a scalar of its outputs."""

from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any, Final

import msgspec
import torch
from torch import Tensor

from sweeps.inputs.filling import Filling, Given, integers, normal, tensors
from sweeps.outputs import named

_FARTHEST: Final = 1e4
"""Elements beyond have no part in a loss of outputs: masked scores are the smallest number that there is."""


class Loss(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A loss as data. `own`: the model's, for `labels` as further inputs.

    Else the mean squared distance of each of `outputs` from normal numbers, averaged over them; numbers drawn as
    Filling says, named after the output. A mean square alone would not do: of normalised outputs it is a constant.
    """

    own: bool
    labels: Given = {}
    outputs: tuple[str, ...] = ()

    def inputs(self) -> dict[str, Any]:
        """The further inputs of the model, on the CPU."""
        return tensors(self.labels)

    def targets(self, result: Any) -> dict[str, Tensor]:
        """What each output is pulled to, on the CPU."""
        found = _real(result)
        return {name: normal(*found[name].shape).tensor(f"target of {name}") for name in self.outputs}

    def of(self, result: Any, targets: Mapping[str, Tensor]) -> Tensor:
        """The loss of a result, a scalar in float32 with its history. Raises ValueError where there is none."""
        if self.own:
            loss = own(result)
            if loss is None:
                raise ValueError("it gives no loss")
            return loss
        found = _real(result)
        parts = [(_near(found[name]) - targets[name]).square().mean() for name in self.outputs]
        return torch.stack(parts).mean()


def own(result: Any) -> Tensor | None:
    """The loss that a result has, as a scalar in float32; None without one that can be differentiated."""
    loss = result.get("loss") if isinstance(result, Mapping) else getattr(result, "loss", None)
    if not isinstance(loss, Tensor) or not loss.requires_grad:
        return None
    return loss.float().mean()


def of_outputs(result: Any) -> Loss:
    """The loss over every output that has a history and numbers. Raises ValueError where there is none."""
    names = tuple(
        name for name, each in _real(result).items()
        if each.requires_grad and each.numel() and not bool(torch.isnan(each).any())
    )  # fmt: skip
    if not names:
        raise ValueError("no output can be differentiated")
    return Loss(own=False, outputs=names)


def _real(result: Any) -> dict[str, Tensor]:
    found = {name: torch.view_as_real(each) if each.is_complex() else each for name, each in named(result)}
    return {name: each for name, each in found.items() if each.is_floating_point()}


def _near(output: Tensor) -> Tensor:
    return output.float().clamp(-_FARTHEST, _FARTHEST)


def labels(model: Any, given: Given, answer: Mapping[str, Tensor]) -> Iterator[Given]:
    """Labels that the class may take, likeliest first, drawn below what the answer's last dimension can tell apart."""
    takes = signature(model.forward).parameters
    if {"start_positions", "end_positions"} <= takes.keys() and "start_logits" in answer:
        rows, length = answer["start_logits"].shape[:2]
        yield {name: integers(0, length, rows) for name in ("start_positions", "end_positions")}
    scores = answer.get("logits", answer.get("prediction_logits"))
    if "labels" in takes and scores is not None:
        yield from ({"labels": each} for each in _labels(given, scores))


def _labels(given: Given, scores: Tensor) -> Iterator[Filling]:
    shape = tuple(scores.shape)
    for name in ("decoder_input_ids", "input_ids"):
        if name in given and len(shape) == 3 and shape[:2] == given[name].shape:
            yield given[name] if shape[2] > 16 else integers(0, shape[2], *shape[:2])
    if len(shape) == 4 and "pixel_values" in given:
        # Classes in the second dimension, one of them for each pixel.
        yield integers(0, shape[1], shape[0], *given["pixel_values"].shape[-2:])
    if len(shape) == 2:
        yield integers(0, shape[1], shape[0])
    if len(shape) == 3:
        yield integers(1, max(2, shape[2] - 1), shape[0], min(4, shape[1]))
