"""Compiled forward: the op under torch.compile on the target's backend, beside the CPU's eager result."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final

import torch
import torch._dynamo
from torch.testing._internal import common_methods_invocations

from conformance.outcomes import Phase, Stage
from conformance.suites.ops.samples import Call
from conformance.suites.ops.staged import StagedBackend
from conformance.suites.ops.trial import Trial

SAMPLES: Final = 2
"""Sample inputs compiled of each op: every new shape is another compilation, which costs far more than it shows."""


def run(trial: Trial) -> None:
    """Raise unless the first samples give the CPU's result when the op is compiled for the device.

    Graph breaks are allowed, since they are the op's own; the nodes that were compiled are counted.
    """
    trial.compiled_nodes = 0
    backend = StagedBackend(
        compile=_lookup(trial.device.compile_backend), compiling=lambda: trial.reach(Stage.COMPILE),
        running=lambda: trial.reach(Stage.EXECUTE),
    )  # fmt: skip
    for call in itertools.islice(trial.samples(), SAMPLES):
        # Guards and compiled code of other tests, and late errors of a backend, must not reach into this one.
        torch._dynamo.reset()
        moved = trial.move(call)
        with unseeded():
            want = trial.reference(lambda: call.on(trial.op))  # noqa: B023  # called at once
            got = _compiled(trial, backend, moved)
        trial.compare(got, want, call)


@contextmanager
def unseeded() -> Iterator[None]:
    """Random OpInfos seed the generator around the op, which dynamo cannot trace: here the op is called as it is."""
    before = common_methods_invocations.wrapper_set_seed
    common_methods_invocations.wrapper_set_seed = _call
    try:
        yield
    finally:
        common_methods_invocations.wrapper_set_seed = before


def _call(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return op(*args, **kwargs)


def _lookup(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = torch._dynamo.lookup_backend(name)
    return found


def _compiled(trial: Trial, backend: StagedBackend, call: Call) -> Any:
    """Compile and run one call; its time is split between the phases."""
    function = torch.compile(_caller(trial.op), backend=backend, fullgraph=False, dynamic=False)
    backend.executing, start = 0.0, perf_counter()
    try:
        return trial.on_device(lambda: call.on(function), Stage.COMPILE, _UNSPLIT)
    finally:
        whole = perf_counter() - start
        trial.seconds.pop(_UNSPLIT, None)
        _account(trial, backend.executing, whole)


_UNSPLIT: Final = Phase.BUILD


def _account(trial: Trial, executing: float, whole: float) -> None:
    graphs = trial.device.compiled()
    trial.compiled_nodes = (trial.compiled_nodes or 0) + sum(each.nodes for each in graphs)
    warm = bool(graphs) and all(each.warm for each in graphs)
    trial.spend(Phase.COMPILE_WARM if warm else Phase.COMPILE, whole - executing)
    trial.spend(Phase.EXECUTE, executing)


def _caller(op: Any) -> Callable[..., Any]:
    """A Python function for dynamo to trace: most ops are built-in functions."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return op.op(*args, **kwargs)

    return call
