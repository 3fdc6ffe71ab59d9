"""A model under torch.compile on the target's backend: what dynamo made of it, and the time that each part took."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final

import msgspec
import torch
import torch._dynamo
from torch._dynamo import utils

from conformance.suites.ops.staged import StagedBackend
from conformance.targets import Device

_LONGEST: Final = 300
"""Characters kept of why a graph broke; PyTorch's explanations fill pages."""

_MOST: Final = 50
"""Reasons kept of one kind."""


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """One compiled graph as the backend tells of it: nodes, seconds, and whether its cache had it."""

    nodes: int
    seconds: float
    cached: bool


class Compiling(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a compiled forward came to in one process.

    `frames` dynamo looked at; `breaks` counts why graphs broke; `recompiled` says why a frame was compiled again.
    `seconds` is the wall time of tracing and compiling, `backend_seconds` what the backend says that it took, modelled
    on a simulated target; `executing` the wall time of what was compiled.
    """

    graphs: list[Graph] = []
    frames: int = 0
    breaks: dict[str, int] = {}
    recompiled: list[str] = []
    seconds: float = 0.0
    backend_seconds: float = 0.0
    executing: float = 0.0
    modelled: bool = False

    @property
    def nodes(self) -> int:
        """Nodes in all graphs."""
        return sum(each.nodes for each in self.graphs)

    @property
    def cached(self) -> int:
        """Graphs that the cache had."""
        return sum(each.cached for each in self.graphs)


class CompiledFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What mode `compile` adds: both processes; `padded`: a padded mask was given too, else `unpadded` says why not.

    `traced` are outputs in which the model itself answers otherwise when it is traced, on the CPU too.
    """

    cold: Compiling | None = None
    warm: Compiling | None = None
    padded: bool = False
    unpadded: str = ""
    traced: tuple[str, ...] = ()


@contextmanager
def measured(found: Compiling, backend: StagedBackend, device: Device) -> Iterator[None]:
    """Compile afresh, errors of a backend never hidden; what it came to is in `found` afterwards, failed or not."""
    _forget()
    start = perf_counter()
    try:
        with torch._dynamo.config.patch(suppress_errors=False):
            yield
    finally:
        whole = perf_counter() - start
        found.executing = round(backend.executing, 6)
        found.seconds = round(whole - backend.executing, 6)
        _count(found)
        _tell(found, device)


def _forget() -> None:
    torch._dynamo.reset()
    utils.counters.clear()
    utils.clear_compilation_metrics()


def _count(found: Compiling) -> None:
    found.frames = int(utils.counters["frames"]["total"])
    broken = utils.counters["graph_break"]
    found.breaks = {_short(str(why)): int(count) for why, count in list(broken.items())[:_MOST]}
    every = utils.get_compilation_metrics()
    found.recompiled = [_short(str(each.recompile_reason)) for each in every if each.recompile_reason][:_MOST]


def _tell(found: Compiling, device: Device) -> None:
    graphs = device.compiled()
    found.graphs = [Graph(nodes=each.nodes, seconds=each.compile_seconds, cached=each.warm) for each in graphs]
    found.backend_seconds = round(sum(each.seconds for each in found.graphs), 6)


def _short(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]


def traced_on_cpu(model: Any, arguments: dict[str, Any]) -> Any:
    """What the CPU gives for a model that is traced as for a backend, each op then called as it is."""
    _forget()
    with torch.no_grad(), torch._dynamo.config.patch(suppress_errors=False):
        traced: Any = torch.compile(model, backend="aot_eager", dynamic=False)
        return traced(**arguments)
