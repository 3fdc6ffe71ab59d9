"""The device of every backend with torch_neuronx's op trackers: the real one and the simulated one alike."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Protocol

from conformance.inventory.overloads import Registration
from conformance.outcomes import Reached
from conformance.targets import Compiled

TRACKERS: Final = ("clear_op_tracking", "get_executed_ops", "get_fallback_ops", "get_dynamo_metrics", "synchronize")
"""Names that the adapter needs, as the Neuron documentation gives them."""


class Namespace(Protocol):
    """The trackers, whichever module has them."""

    def clear_op_tracking(self) -> None:
        """Forget the executed and fallback ops."""

    def get_executed_ops(self) -> Iterable[str]:
        """Ops that ran on the device."""

    def get_fallback_ops(self) -> Iterable[str]:
        """Ops that ran on the CPU."""

    def get_dynamo_metrics(self) -> Any:
        """What the dynamo backend compiled."""

    def synchronize(self) -> None:
        """Wait for the device."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedDevice:
    """A device whose trackers are process-wide sets of op names. `facts` gives what is recorded with a run."""

    backend: Namespace
    facts: Callable[[], Mapping[str, str]]
    device: str = "neuron"
    compile_backend: str = "neuron"
    tracks: bool = field(default=True)
    serves: Mapping[str, Registration] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget the executed and fallback ops and the compile metrics."""
        self.backend.clear_op_tracking()

    def synchronize(self) -> None:
        """Wait until all work queued on the device is done."""
        self.backend.synchronize()

    def executed_ops(self) -> frozenset[str]:
        """Names of the ops that ran on the device since `clear`."""
        return frozenset(qualified(name) for name in self.backend.get_executed_ops())

    def fallback_ops(self) -> frozenset[str]:
        """Names of the ops that ran on the CPU instead since `clear`."""
        return frozenset(qualified(name) for name in self.backend.get_fallback_ops())

    def reached(self) -> Reached:
        """The names of both trackers, overloads kept where they have them."""
        return Reached(
            executed=frozenset(map(str, self.backend.get_executed_ops())),
            fallback=frozenset(map(str, self.backend.get_fallback_ops())),
        )

    def compiled(self) -> tuple[Compiled, ...]:
        """The graphs compiled since `clear`."""
        return tuple(compiled_graph(each) for each in _records(self.backend.get_dynamo_metrics()))

    def probe(self) -> str | None:
        """None when a small sum on the device is right, else one sentence about what is wrong."""
        import torch

        try:
            total = (torch.ones(4, device=self.device) + torch.ones(4, device=self.device)).sum()
            self.synchronize()
            answer = float(total.cpu())
        except Exception as error:  # whatever a sick device raises is the answer to the probe
            return f"a small sum on {self.device} failed: {type(error).__name__}: {error}".splitlines()[0]
        return None if answer == 8.0 else f"a small sum on {self.device} gave {answer} instead of 8.0"

    def declared(self) -> Mapping[str, Registration]:
        """How the device serves ops whose registered kernel does not tell; none unless the target says so."""
        return self.serves

    def environment(self) -> Mapping[str, str]:
        """Versions and the effective values of the backend's variables, recorded with the run."""
        return self.facts()


@lru_cache(maxsize=8192)
def qualified(name: str) -> str:
    """`aten::add` for `add`, `aten::add.Tensor` or `aten.add.Tensor`: names are compared without their overload."""
    spaced = name.replace(".", "::", 1) if "::" not in name and name.count(".") else name
    space, _, rest = spaced.rpartition("::")
    return f"{space or 'aten'}::{rest.partition('.')[0]}"


def _records(metrics: Any) -> list[Any]:
    """get_dynamo_metrics gives a list of records or one mapping by graph name; both are read."""
    if isinstance(metrics, Mapping):
        return [
            {"graph_name": name, **dict(each)} if isinstance(each, Mapping) else each for name, each in metrics.items()
        ]
    return list(metrics or ())


def compiled_graph(record: Any) -> Compiled:
    """One compiled graph from a metrics record, a mapping or an object. A name that is missing counts as nothing."""

    def value(*names: str, default: Any = 0) -> Any:
        for name in names:
            found = record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)
            if found is not None:
                return found
        return default

    return Compiled(
        graph=str(value("graph_name", "name", default="")),
        nodes=int(value("num_nodes", "node_count", "nodes")),
        compile_seconds=float(value("lowering_time")) + float(value("compile_time", "compilation_time")),
        warm=bool(value("cache_hit", default=False)),
    )
