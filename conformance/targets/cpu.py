"""Target `cpu`: the same tests on the CPU itself. A check of the harness, not of a backend."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from conformance.targets import Check, Compiled, Device, Target

if TYPE_CHECKING:
    from torch.fx import GraphModule

_BACKEND: Final = "conformance_cpu"
_GRAPHS: Final[list[Compiled]] = []


@dataclass(frozen=True, kw_only=True, slots=True)
class Processor:
    """The CPU as a device. It has no trackers and needs none: its kernels cannot leave it."""

    device: str = "cpu"
    compile_backend: str = _BACKEND
    tracks: bool = True
    executed: frozenset[str] = field(default=frozenset({"cpu"}))
    """The one thing that can have executed: not an op's name, so that nobody takes it for a tracker's."""

    def clear(self) -> None:
        """Forget the compiled graphs."""
        _GRAPHS.clear()

    def synchronize(self) -> None:
        """Nothing is queued on the CPU."""

    def executed_ops(self) -> frozenset[str]:
        """The constant `cpu`: the device of the tensors is the proof here, as the vocabulary defines it."""
        return self.executed

    def fallback_ops(self) -> frozenset[str]:
        """None: there is nowhere to fall back to."""
        return frozenset()

    def reached(self) -> None:
        """Nothing here tells ops apart."""

    def compiled(self) -> tuple[Compiled, ...]:
        """The graphs that dynamo captured since `clear`; they run eagerly, so compiling takes no time."""
        return tuple(_GRAPHS)

    def probe(self) -> str | None:
        """Always healthy: a CPU that cannot add would not come here."""
        return None

    def environment(self) -> Mapping[str, str]:
        """The version of torch."""
        return {"backend": "cpu", "torch": version("torch")}


@dataclass(frozen=True, kw_only=True, slots=True)
class Harness:
    """The CPU as a target: CPU against CPU, so whatever is not a pass is a fault of the tests."""

    name: str = "cpu"
    simulated: bool = False
    description: str = "HARNESS CHECK: the tests on the CPU against the CPU; says nothing about a backend"

    def releases(self) -> tuple[str, ...]:
        """None: the installed torch is the release."""
        return ()

    def checks(self) -> tuple[Check, ...]:
        """PyTorch."""
        return (Check(name="torch", present=find_spec("torch") is not None, remedy="install it: pip install torch"),)

    def environment(self, release: str) -> Mapping[str, str]:
        """Keeps installed accelerator backends from loading."""
        return {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}

    def compile_cache(self) -> str:
        """Graphs are counted and run, nothing is kept."""
        return ""

    def activate(self, release: str) -> Device:
        """Register the dynamo backend that counts nodes."""
        from torch._dynamo.backends.registry import register_backend

        # A registered function is marked so. Asking for the list would import every backend that torch ships.
        if not hasattr(_count_and_run, "_tags"):
            register_backend(_count_and_run, name=_BACKEND)
        return Processor()


def _count_and_run(module: "GraphModule", inputs: Sequence[Any]) -> Callable[..., Any]:
    from torch._dynamo.backends.common import aot_autograd

    runner: Callable[..., Any] = aot_autograd(fw_compiler=_count, bw_compiler=_count)(module, inputs)
    return runner


def _count(module: "GraphModule", _inputs: Sequence[Any]) -> Callable[..., Any]:
    from torch._functorch._aot_autograd.utils import make_boxed_func

    nodes = sum(node.op == "call_function" for node in module.graph.nodes)
    _GRAPHS.append(Compiled(graph=f"graph_{len(_GRAPHS)}", nodes=nodes, compile_seconds=0.0, warm=False))
    return make_boxed_func(module.forward)


def target(name: str) -> Target:
    """The target; `name` is always `cpu`."""
    return Harness(name=name)
