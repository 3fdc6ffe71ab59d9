"""One call of FlexAttention: its inputs, the same inputs on a device, and what is asked of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, create_block_mask, noop_mask

from conformance.suites.ops.samples import seed_of
from sweeps.flex.cases import Case, Shape
from sweeps.flex.variants import BUILDERS, Mods, Problem

Attention = Callable[..., Any]
"""`flex_attention` itself, or what torch.compile made of it."""

NAMES = ("query", "key", "value")


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """Inputs on the CPU in the case's dtype: query, key, value, and the gradient of the output. See Shape for sizes."""

    case: Case
    shape: Shape
    inputs: tuple[Tensor, Tensor, Tensor]
    cotangent: Tensor

    def mods(self, device: str, dtype: torch.dtype = torch.float32) -> Mods:
        """The score and mask functions with what they capture on a device."""
        return BUILDERS[self.case.mods](Problem(shape=self.shape, device=device, dtype=dtype))

    def placed(self, device: str) -> "Placed":
        """Copies of the inputs on a device, strides kept, and the functions there."""
        mods = self.mods(device)
        moved = [each.to(device) for each in self.inputs]
        if self.case.backward:
            for each in (*moved, *mods.learned):
                each.requires_grad_()
        return Placed(question=self, inputs=moved, mods=mods, cotangent=self.cotangent.to(device))


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """A question on a device."""

    question: Question
    inputs: Sequence[Tensor]
    mods: Mods
    cotangent: Tensor

    def block_mask(self, device: str) -> BlockMask | None:
        """The block mask as a user builds it: by create_block_mask, on the device. None for a plain call."""
        case, shape = self.question.case, self.question.shape
        if case.plain:
            return None
        # Masks that look at the batch entry need one for each; the others are shared.
        batch = shape.batch if case.mods == "prefix" else None
        return create_block_mask(self.mods.mask or noop_mask, batch, None, shape.queries, shape.keys, device=device)

    def forward(self, attention: Attention, mask: BlockMask | None) -> dict[str, Tensor]:
        """The outputs by name."""
        case, shape = self.question.case, self.question.shape
        aux = AuxRequest(lse=True) if case.logsumexp else None
        found = attention(
            *self.inputs, score_mod=self.mods.score, block_mask=mask, enable_gqa=shape.heads != shape.kv_heads,
            return_aux=aux,
        )  # fmt: skip
        return {"output": found[0], "logsumexp": found[1].lse} if aux else {"output": found}

    def backward(self, outputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """The gradients by name: of query, key and value, and of what is learned."""
        wanted = (*self.inputs, *self.mods.learned)
        found = torch.autograd.grad(outputs["output"], wanted, self.cotangent)
        names = (*NAMES, *(f"learned[{number}]" for number in range(len(self.mods.learned))))
        return {f"gradient of {name}": each for name, each in zip(names, found, strict=True)}


def questions(case: Case) -> Iterator[Question]:
    """The calls of a case; their inputs are drawn from a normal distribution, seeded by the case's identity."""
    generator, dtype = torch.Generator().manual_seed(seed_of(case.id.key)), getattr(torch, case.dtype)

    def drawn(heads: int, length: int, width: int, batch: int) -> Tensor:
        if case.transposed:
            return torch.randn(batch, length, heads, width, generator=generator).to(dtype).transpose(1, 2)
        return torch.randn(batch, heads, length, width, generator=generator).to(dtype)

    for each in case.shapes:
        query = drawn(each.heads, each.queries, each.width, each.batch)
        key = drawn(each.kv_heads, each.keys, each.width, each.batch)
        value = drawn(each.kv_heads, each.keys, each.value_width, each.batch)
        cotangent = drawn(each.heads, each.queries, each.value_width, each.batch)
        yield Question(case=case, shape=each, inputs=(query, key, value), cotangent=cotangent)
