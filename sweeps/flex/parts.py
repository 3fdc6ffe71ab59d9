"""The three parts of a case: its block masks, FlexAttention as it is called, and compiled."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final

import torch
import torch._dynamo
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from conformance.outcomes import Phase, Stage
from conformance.suites.ops.compare import MismatchError
from conformance.suites.ops.staged import StagedBackend
from sweeps.flex.questions import Attention
from sweeps.flex.trial import Asked, Trial, Watched

CACHE: Final = "NEURON_COMPILE_CACHE_URL"
"""The documented variable that says where compiled graphs are kept."""

Masks = Sequence[BlockMask | None]


def masks(trial: Trial, watched: Watched, asked: Sequence[Asked]) -> list[BlockMask | None]:
    """The block masks, built on the device. Raises MismatchError when one marks other blocks than the CPU's."""
    trial.reach(Stage.EXECUTE)
    where = trial.device.device
    made: list[BlockMask | None] = trial.timed(
        Phase.EXECUTE, lambda: watched.tracked(lambda: [each.placed.block_mask(where) for each in asked])
    )
    trial.reach(Stage.COMPARE)
    for each, mask in zip(asked, made, strict=True):
        if mask is not None:
            watched.look({"the block mask": mask.kv_indices})
            _same(mask, each)
    return made


def _same(mask: BlockMask, asked: Asked) -> None:
    want = asked.question.placed("cpu").block_mask("cpu")
    assert want is not None
    for name, got, due in (("blocks", _blocks(mask, full=False), _blocks(want, full=False)),
                           ("whole blocks", _blocks(mask, full=True), _blocks(want, full=True))):  # fmt: skip
        if not torch.equal(got, due):
            wrong = int((got != due).sum())
            raise MismatchError(
                f"{wrong} of {due.numel()} {name} of the block mask are marked otherwise than on the CPU"
            )


def _blocks(mask: BlockMask, *, full: bool) -> Tensor:
    """Which blocks of queries and keys are marked, whatever the order of their list: (batch, heads, rows, columns)."""
    counts = mask.full_kv_num_blocks if full else mask.kv_num_blocks
    listed = mask.full_kv_indices if full else mask.kv_indices
    if counts is None or listed is None:
        return torch.zeros(0)
    counts, listed = counts.cpu(), listed.cpu()
    used = torch.arange(listed.shape[-1]) < counts.unsqueeze(-1)
    marked = torch.zeros(listed.shape, dtype=torch.int64)
    return marked.scatter_add(-1, listed.long(), used.long())


def eager(trial: Trial, watched: Watched, asked: Sequence[Asked], made: Masks) -> None:
    """FlexAttention as it is called without torch.compile."""
    torch._dynamo.reset()
    for each, mask in zip(asked, made, strict=True):
        trial.reach(Stage.EXECUTE)
        run = _call(flex_attention, each, mask, lambda: trial.reach(Stage.BACKWARD))
        got = trial.timed(Phase.EXECUTE, lambda: watched.tracked(run))  # noqa: B023  # called at once
        watched.look(got)
        trial.reach(Stage.COMPARE)
        watched.differences += trial.compare(got, each)


def compiled(trial: Trial, watched: Watched, asked: Sequence[Asked], made: Masks) -> None:
    """FlexAttention compiled for the device, cold: into a cache of its own."""
    torch._dynamo.reset()
    backend = StagedBackend(
        compile=torch._dynamo.lookup_backend(trial.device.compile_backend),
        compiling=lambda: trial.reach(Stage.COMPILE), running=lambda: trial.reach(Stage.COMPILED_FORWARD),
    )  # fmt: skip
    function = torch.compile(flex_attention, backend=backend, fullgraph=True, dynamic=trial.case.dynamic)
    with _cold():
        for each, mask in zip(asked, made, strict=True):
            trial.reach(Stage.COMPILE)
            # The backward graph is compiled when it is first needed.
            run = _call(function, each, mask, lambda: trial.reach(Stage.COMPILE))
            got = _split(trial, backend, lambda: watched.tracked(run))  # noqa: B023  # called at once
            watched.look(got)
            trial.reach(Stage.COMPILED_COMPARE)
            watched.differences += trial.compare(got, each)


def _call(
    attention: Attention, asked: Asked, mask: BlockMask | None, backward: Callable[[], None]
) -> Callable[[], dict[str, Tensor]]:
    def run() -> dict[str, Tensor]:
        found = asked.placed.forward(attention, mask)
        if asked.question.case.backward:
            backward()
            found |= asked.placed.backward(found)
        return found

    return run


def _split(trial: Trial, backend: StagedBackend, work: Callable[[], Any]) -> Any:
    """What the work gives, its time divided between compiling and running what was compiled."""
    backend.executing, start = 0.0, perf_counter()
    try:
        return work()
    finally:
        trial.spend(Phase.COMPILE, perf_counter() - start - backend.executing)
        trial.spend(Phase.EXECUTE, backend.executing)


@contextmanager
def _cold() -> Iterator[None]:
    """An empty compile cache: a graph that is found there says nothing about the limit."""
    before = os.environ.get(CACHE)
    with tempfile.TemporaryDirectory(prefix="conformance-flex-") as folder:
        os.environ[CACHE] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ[CACHE]
            else:
                os.environ[CACHE] = before
