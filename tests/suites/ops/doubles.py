"""A device that can be told to be wrong: it computes on the CPU, and knows when it is the device's turn."""

import copy
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.outcomes import Attempt, Reached, TestId
from conformance.suites.ops import catalogue, runner
from conformance.suites.ops.kinds import KINDS
from conformance.suites.ops.quiet import quiet
from conformance.suites.ops.trial import Trial
from conformance.targets import Compiled


@dataclass(kw_only=True)
class Double:
    """A device of torch's CPU. Between `clear` and `synchronize` it is the device that computes, else the reference."""

    device: str = "cpu"
    compile_backend: str = "eager"
    tracks: bool = True
    executes: frozenset[str] = frozenset({"aten::add"})
    falls_back: frozenset[str] = frozenset()
    graphs: tuple[Compiled, ...] = (Compiled(graph="g", nodes=1, compile_seconds=0.0, warm=False),)
    turn: bool = field(default=False, init=False)

    def clear(self) -> None:
        self.turn = True

    def synchronize(self) -> None:
        self.turn = False

    def executed_ops(self) -> frozenset[str]:
        self.turn = False
        return self.executes

    def fallback_ops(self) -> frozenset[str]:
        return self.falls_back

    def reached(self) -> Reached:
        return Reached(executed=self.executed_ops(), fallback=self.fallback_ops())

    def compiled(self) -> tuple[Compiled, ...]:
        return self.graphs

    def probe(self) -> str | None:
        return None

    def environment(self) -> Mapping[str, str]:
        return {}


def identity(kind: str, op: str, dtype: str = "float32") -> TestId:
    found = catalogue.by_name()[op]
    per_dtype = KINDS[kind].per_dtype
    return TestId(
        suite="ops", file=kind, cls=op, name=dtype if per_dtype else "all", op=found.name,
        variant=found.variant_test_name, dtype=dtype if per_dtype else "", kind=kind,
    )  # fmt: skip


def trial(kind: str, op: str, dtype: str = "float32", device: Double | None = None, **options: Any) -> Trial:
    return runner.prepare(identity(kind, op, dtype), device or Double(), **options)


def attempt(kind: str, op: str, dtype: str = "float32", device: Double | None = None, **options: Any) -> Attempt:
    """The attempt of an ordinary test on a device that is right unless told otherwise."""
    with quiet():
        return runner.attempt(trial(kind, op, dtype, device, **options), kind)


def attempt_with(
    kind: str, op: str, on_device: Callable[..., Any], part: str = "op", dtype: str = "float32", **options: Any
) -> Attempt:
    """The attempt when the device computes `part` of the OpInfo by another function than the CPU does."""
    device = options.pop("device", None) or Double()
    made = trial(kind, op, dtype, device, **options)
    changed = copy.copy(made.op)
    original = getattr(made.op, part)

    def function(*args: Any, **kwargs: Any) -> Any:
        return (on_device if device.turn else original)(*args, **kwargs)

    object.__setattr__(changed, part, function)
    with quiet():
        return runner.attempt(dataclasses.replace(made, op=changed), kind)
