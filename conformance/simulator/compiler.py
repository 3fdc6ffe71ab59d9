"""The dynamo backend `neuron`: models a compiler that takes time, keeps a cache and refuses what it cannot lower."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch
from torch.fx import GraphModule, Node

from conformance.codes import compiler_code
from conformance.simulator import faults, library, neff
from conformance.simulator.table import Compiler, Refusal, Table

TIME_SCALE: Final = "CONFORMANCE_SIM_COMPILE_SCALE"
"""Modelled compile seconds are slept times this; 0, the default, only records them."""


class CompilationError(RuntimeError):
    """The simulated compiler refused a graph; the text begins with its NCC code."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One compiled graph: times in seconds, modelled."""

    graph_name: str
    nodes: int
    lowering: float
    compiling: float
    warm: bool

    def as_dict(self) -> dict[str, object]:
        """Under the names that get_dynamo_metrics gives."""
        return {
            "graph_name": self.graph_name, "num_nodes": self.nodes, "lowering_time": self.lowering,
            "compile_time": self.compiling, "cache_hit": self.warm,
        }  # fmt: skip


@dataclass(slots=True)
class _State:
    table: Table | None = None
    refusals: tuple[Refusal, ...] = ()
    metrics: list[Metric] = field(default_factory=list)
    registered: bool = False


_STATE: Final = _State()


def start(table: Table, *, fallback: bool) -> None:
    """Register the dynamo backend and compile under this table from now on.

    `fallback` allows ops without a kernel in a graph, to run on the CPU; else the graph is refused.
    """
    _STATE.table = table
    _STATE.refusals = (*table.refusals(), *_unsupported(table, fallback))
    if not _STATE.registered:
        from torch._dynamo.backends.registry import register_backend

        register_backend(_backend, name="neuron")
        _STATE.registered = True


def _unsupported(table: Table, fallback: bool) -> Iterator[Refusal]:
    """What the eager table says of an op, as the compiler says it: no kernel, or no arithmetic for a dtype."""
    modes = ("refused", "failing") if fallback else ("refused", "failing", "fallback")
    for entry in table.entries:
        if entry.mode in modes:
            code, text = ("NCC_EUOC002", "unsupported operator") if entry.ops else ("NCC_ESPP004", "unsupported dtype")
            code = compiler_code(entry.reason) or code
            reason = entry.reason.removeprefix(f"[{code}] ")
            yield Refusal(code=code, text=text, reason=reason, ops=entry.ops, dtypes=entry.dtypes)


def clear_metrics() -> None:
    """Forget the compiled graphs."""
    _STATE.metrics.clear()


def metrics() -> tuple[Metric, ...]:
    """The graphs compiled since the last clearing."""
    return tuple(_STATE.metrics)


def _backend(module: GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    from torch._dynamo.backends.common import aot_autograd

    compiled: Callable[..., Any] = aot_autograd(fw_compiler=compile_graph, bw_compiler=compile_graph)(module, inputs)
    return compiled


def compile_graph(module: GraphModule, _inputs: Sequence[Any]) -> Callable[..., Any]:
    """Compile one functional graph: refuse it, or record the modelled time and give back what runs it on the device."""
    from torch._functorch._aot_autograd.utils import make_boxed_func

    table = _STATE.table
    assert table is not None, "a graph was compiled before the device was started"
    faults.before_compiling(module)
    nodes = [node for node in module.graph.nodes if node.op == "call_function"]
    _check(nodes, module, table)
    metric = _modelled(module, nodes, table)
    time.sleep((metric.lowering + metric.compiling) * float(os.environ.get(TIME_SCALE, "0")))
    _STATE.metrics.append(metric)

    def on_device(*arguments: Any) -> Any:
        loaded = library.load()
        loaded.call("compiled_region", 1)
        try:
            return module(*arguments)
        finally:
            loaded.call("compiled_region", -1)

    return make_boxed_func(on_device)


def _check(nodes: Sequence[Node], module: GraphModule, table: Table) -> None:
    for node in module.graph.nodes:
        for value in _values(node):
            _check_value(value)
    for node in nodes:
        for refusal in _STATE.refusals:
            if _matches(refusal, node):
                raise CompilationError(f"[{refusal.code}] {refusal.text}: {node.target}: {refusal.reason}")
    _check_limits(nodes, table.compiler)


def _check_value(value: torch.Tensor | torch.SymInt) -> None:
    if isinstance(value, torch.SymInt) or any(isinstance(size, torch.SymInt) for size in value.shape):
        raise CompilationError(f"[NCC_EMOD025] dynamic shapes are not supported: {value}; use dynamic=False")
    if value.dtype.is_complex:
        raise CompilationError(f"[NCC_EVRF004] complex data types are not supported: {value.dtype}")


def _check_limits(nodes: Sequence[Node], limits: Compiler) -> None:
    if len(nodes) > limits.most_nodes:
        raise CompilationError(
            f"[NCC_EXTP004] the graph has {len(nodes)} operations, more than {limits.most_nodes}: split the model"
        )
    needed = sum(value.nbytes for node in nodes for value in _values(node) if isinstance(value, torch.Tensor))
    if needed > limits.most_bytes:
        raise CompilationError(
            f"[NCC_EOOM001] the graph needs {needed} bytes of device memory, more than {limits.most_bytes}"
        )


def _values(node: Node) -> Iterator[torch.Tensor | torch.SymInt]:
    value = node.meta.get("val")
    for each in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(each, (torch.Tensor, torch.SymInt)):
            yield each


def _matches(refusal: Refusal, node: Node) -> bool:
    if refusal.ops and base_name(node) not in refusal.ops:
        return False
    if not refusal.dtypes:
        return True
    return any(str(dtype).removeprefix("torch.") in refusal.dtypes for dtype in _dtypes(node))


def _dtypes(node: Node) -> Iterator[torch.dtype]:
    """What the eager table looks at too: the dtypes of the arguments, and the one that is asked for."""
    for each in node.all_input_nodes:
        yield from (value.dtype for value in _values(each) if isinstance(value, torch.Tensor))
    asked = node.kwargs.get("dtype")
    if isinstance(asked, torch.dtype):
        yield asked


def base_name(node: Node) -> str:
    """`add` for aten.add.Tensor."""
    name = str(getattr(node.target, "_opname", node.target))
    return name if name.endswith("__") else name.removesuffix("_")


def _modelled(module: GraphModule, nodes: Sequence[Node], table: Table) -> Metric:
    key = _key(module, table)
    kept = neff.folder() / f"{key}.neff.json"
    limits, warm = table.compiler, kept.exists()
    seconds = (
        limits.seconds_warm if warm else limits.seconds_base + sum(_seconds(module, each, table) for each in nodes)
    )
    if not warm:
        _keep(kept, {"simulated": True, "release": table.release, "nodes": len(nodes), "seconds": seconds})
    return Metric(
        graph_name=f"graph_{key[:12]}", nodes=len(nodes), lowering=seconds * 0.1, compiling=seconds * 0.9, warm=warm
    )


def _seconds(module: GraphModule, node: Node, table: Table) -> float:
    """What one operation takes to compile; one that is given functions, as FlexAttention, is written out in tiles."""
    tiled = table.tiled(base_name(node))
    if tiled is None:
        return table.compiler.seconds_node
    queries, keys = (each.meta["val"].shape for each in node.all_input_nodes[:2])
    tiles = queries[0] * queries[1] * -(-queries[-2] // tiled.tile) * -(-keys[-2] // tiled.tile)
    given = [getattr(module, str(each.target), None) for each in node.all_input_nodes if each.op == "get_attr"]
    graphs = [each.graph for each in given if isinstance(each, GraphModule)]
    inlined = sum(each.op == "call_function" for graph in graphs for each in graph.nodes)
    return float(tiles * tiled.seconds * (1 + inlined))


def _key(module: GraphModule, table: Table) -> str:
    """A hash of the graph, its shapes and dtypes, the release and the table: what the answer depends on."""
    whole = hashlib.sha256(table.digest.encode())
    for node in module.graph.nodes:
        shapes = [(tuple(v.shape), str(v.dtype)) for v in _values(node) if isinstance(v, torch.Tensor)]
        whole.update(f"{node.op} {node.target} {node.args} {node.kwargs} {shapes}\n".encode())
    return whole.hexdigest()


def _keep(path: Path, content: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(content))
    partial.replace(path)
