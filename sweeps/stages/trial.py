"""One attempt at one planned model: what is known of it, the stage it is in, and what was seen on the device."""

import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

import torch
from torch import Tensor

from conformance.outcomes import Phase, Stage
from conformance.targets import Device
from conformance.targets.seen import Seen
from sweeps import memory
from sweeps.calls.recording import Recorder
from sweeps.facts import Facts
from sweeps.outputs import named
from sweeps.signature import Signature

PHASES: Final = {
    Stage.BUILD: Phase.BUILD, Stage.REFERENCE: Phase.COMPARE, Stage.MOVE: Phase.SETUP, Stage.FORWARD: Phase.EXECUTE,
    Stage.COMPARE: Phase.COMPARE, Stage.BACKWARD: Phase.EXECUTE, Stage.STEP: Phase.EXECUTE,
    Stage.COMPILE: Phase.COMPILE, Stage.COMPILED_FORWARD: Phase.EXECUTE, Stage.COMPILED_COMPARE: Phase.COMPARE,
    Stage.WARM: Phase.COMPILE_WARM,
}  # fmt: skip
"""The phase of time that a stage belongs to."""

SEED: Final = 0

MEMORY: Final = "memory-limit"
"""The rule of a stage that asked for more memory than it may have."""


class OutOfMemoryError(Exception):
    """A stage asked for more memory than it may add to its process."""

    def __init__(self, stage: Stage) -> None:
        most = f"more than {memory.allowed():g} GiB ({memory.VARIABLE})" if memory.allowed() else "more than there is"
        super().__init__(f"stage {stage} needs {most}")


@dataclass(kw_only=True, slots=True, eq=False, repr=False)
class Trial:
    """What a mode works with. `dtype` is that of the parameters; `enter` is told of each stage that is reached.

    `record` is given the level and the calls of the CPU's forward before the device is asked anything.
    """

    signature: Signature
    dtype: torch.dtype
    device: Device
    facts: Facts
    enter: Callable[[Stage], None] = lambda _: None
    record: Callable[[str, Recorder], None] = lambda _level, _calls: None

    stage: Stage = Stage.SETUP
    seen: Seen = field(default_factory=Seen)
    off_device: str = ""
    apart: dict[str, float] = field(default_factory=dict)
    divided: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def at(self, stage: Stage) -> Iterator[None]:
        """Be in a stage, and add its time and memory to the facts."""
        self.enters(stage)
        start = perf_counter()
        try:
            with memory.bounded():
                yield
        except Exception as error:
            if memory.ran_out(error):
                raise OutOfMemoryError(stage) from error
            raise
        finally:
            spent = self.facts.seconds
            spent[stage] = round(spent.get(stage, 0.0) + perf_counter() - start, 6)
            self.facts.memory["process"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def timed(self, phase: Phase, work: Callable[[], Any]) -> Any:
        """What the work gives; its time counts for the phase and not for the stage that it is done in."""
        start = perf_counter()
        try:
            return work()
        finally:
            self.divide(self.stage, {phase: perf_counter() - start})

    def enters(self, stage: Stage) -> None:
        """Go on to a stage; its time is for who called."""
        if stage is not self.stage:
            self.stage = stage
            self.enter(stage)

    def divide(self, stage: Stage, phases: Mapping[Phase, float]) -> None:
        """Give a part of a stage's time, which is still running, to phases."""
        for phase, seconds in phases.items():
            self.apart[phase] = self.apart.get(phase, 0.0) + seconds
        self.divided[stage] = self.divided.get(stage, 0.0) + sum(phases.values())

    def phases(self) -> dict[str, float]:
        """Seconds by phase."""
        found: dict[str, float] = dict(self.apart)
        for stage, seconds in self.facts.seconds.items():
            phase = PHASES.get(Stage(stage), Phase.EXECUTE)
            found[phase] = found.get(phase, 0.0) + max(0.0, seconds - self.divided.get(stage, 0.0))
        return found

    def tracked(self, work: Callable[[], Any]) -> Any:
        """What `work` gives without history, all queued work done, the ops that it took added to what was seen."""
        self.device.clear()
        torch.manual_seed(SEED)
        try:
            with torch.no_grad():
                result = work()
            self.device.synchronize()
            return result
        finally:
            with suppress(Exception):
                self.seen.read(self.device)

    def need_on_device(self, what: str, tensors: Iterator[tuple[str, Tensor]]) -> None:
        """Note the first tensor that is not on the device: parameters and outputs are looked at, nothing is assumed."""
        for name, each in tensors:
            if each.device.type != self.device.device and not self.off_device:
                self.off_device = f"{what} {name} is on {each.device}"


def answer(result: Any) -> dict[str, Tensor]:
    """The tensors of a result by name, without history."""
    return {name: each.detach() for name, each in named(result)}


def on(value: Any, device: str, dtype: torch.dtype) -> Any:
    """An argument of a model on a device; real numbers become the dtype of its parameters."""
    if isinstance(value, list):
        return [on(each, device, dtype) for each in value]
    if not isinstance(value, Tensor):
        return value
    return value.to(device, dtype) if value.is_floating_point() else value.to(device)
