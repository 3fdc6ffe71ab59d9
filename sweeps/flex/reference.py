"""The right answer: dense attention in float64 on the CPU, without FlexAttention, vmap or a block mask."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from sweeps.flex.questions import NAMES, Question
from sweeps.flex.variants import Mods


def answer(question: Question) -> dict[str, Tensor]:
    """Outputs and gradients by the names that `Placed` gives them, in float64, from the inputs as they were rounded."""
    mods = question.mods("cpu", torch.float64)
    inputs = [each.double() for each in question.inputs]
    wanted = [*inputs, *mods.learned]
    if question.case.backward:
        for each in wanted:
            each.requires_grad_()
    output, logsumexp = dense(inputs, mods)
    found = {"output": output}
    if question.case.logsumexp:
        found["logsumexp"] = logsumexp
    if question.case.backward:
        names = (*NAMES, *(f"learned[{number}]" for number in range(len(mods.learned))))
        gradients = torch.autograd.grad(output, wanted, question.cotangent.double())
        found |= {f"gradient of {name}": each for name, each in zip(names, gradients, strict=True)}
    return {name: each.detach() for name, each in found.items()}


def dense(inputs: Sequence[Tensor], mods: Mods) -> tuple[Tensor, Tensor]:
    """Attention (batch, heads, queries, value width) and the logarithm of each row's sum (batch, heads, queries).

    The functions of `mods` are called once, on whole grids of indices. A row in which nothing is seen is zero.
    """
    query, key, value = inputs
    shared = query.shape[1] // key.shape[1]
    key, value = (each.repeat_interleave(shared, dim=1) for each in (key, value))
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    b, h, q, k = _grids(scores.shape)
    if mods.score is not None:
        scores = mods.score(scores, b, h, q, k)
    if mods.mask is not None:
        scores = scores.masked_fill(~mods.mask(b, h, q, k), -math.inf)
    logsumexp = scores.logsumexp(-1)
    weights = torch.exp(scores - logsumexp.unsqueeze(-1)).masked_fill((logsumexp == -math.inf).unsqueeze(-1), 0.0)
    return weights @ value, logsumexp


def _grids(shape: Sequence[int]) -> list[Tensor]:
    """The index of each element along each of four dimensions, in a shape that broadcasts."""
    return [
        torch.arange(size).reshape([size if place == dimension else 1 for place in range(4)])
        for dimension, size in enumerate(shape)
    ]
