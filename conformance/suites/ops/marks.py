"""PyTorch's marks on an OpInfo (DecorateInfo and bare decorators) that hold for a generic device that is not CUDA."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from conformance.plan import Decision, Expected
from conformance.suites.ops.kinds import Kind, ineligible

_DEVICE_GATES: Final = {
    "onlyCUDA": "PyTorch runs this op's tests on CUDA only",
    "onlyCPU": "PyTorch runs this op's tests on the CPU only",
}


def gate(op: Any) -> Decision | None:
    """The skip of every test of an op that PyTorch keeps for one kind of device."""
    for each in op.decorators:
        name = getattr(each, "__name__", "")
        if name in _DEVICE_GATES:
            return ineligible(_rule(name), _DEVICE_GATES[name])
    return None


def mark(op: Any, kind: Kind, dtype: Any, device: str) -> Decision | Expected | None:
    """What PyTorch's marks for the test that asks the same say of ours; None when nothing or not honoured."""
    if not kind.honours:
        return None
    for decorator in _active(op, kind, dtype, device):
        name = getattr(decorator, "__name__", "")
        if name in _DEVICE_GATES:
            return ineligible(_rule(name), _DEVICE_GATES[name])
        marked = _marked(decorator)
        skip = getattr(marked, "__unittest_skip_why__", None)
        if skip is not None:
            return ineligible("upstream-skip", f"PyTorch skips {kind.upstream[1]}: {skip or 'no reason given'}")
        if getattr(marked, "__unittest_expecting_failure__", False):
            return Expected(
                rule="ops:upstream-expected-failure", reason=f"PyTorch expects {kind.upstream[1]} to fail for this op"
            )
    return None


def _rule(gate_name: str) -> str:
    return {"onlyCUDA": "only-cuda", "onlyCPU": "only-cpu"}[gate_name]


def _active(op: Any, kind: Kind, dtype: Any, device: str) -> Iterator[Callable[..., Any]]:
    for each in op.decorators:
        # Marks without a class and a test are for every test of the op and are seen by `gate`.
        if getattr(each, "test_name", None) and each.is_active(*kind.upstream, device, dtype, {}):
            yield from each.decorators


def _marked(decorator: Callable[..., Any]) -> Any:
    """A function of ours with the decorator on: unittest's own leave their meaning as attributes."""

    def probe() -> None:
        """Never called."""

    if getattr(decorator, "__module__", "") != "unittest.case" and decorator.__qualname__ not in _UNITTEST:
        return probe
    return decorator(probe)


_UNITTEST: Final = frozenset({"skip.<locals>.decorator", "expectedFailure", "_id"})
