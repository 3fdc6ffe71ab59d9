"""One attempt at one case: where it is, what it has seen and spent, and the parts that it has judged."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

import torch

from conformance import classify
from conformance.outcomes import Outcome, Phase, Stage
from conformance.targets import Device
from conformance.targets.seen import Seen
from sweeps.flex.cases import Case
from sweeps.flex.comparing import ALLOWED, Difference, compared
from sweeps.flex.facts import Facts, Part
from sweeps.flex.questions import Placed, Question

COMPILED: Final = "compiled"
"""The part that is compiled for the device; whatever a backend compiles in the others is its own way to run ops."""
TIMEOUT: Final = "flex-compile-limit"
"""The backend reports more seconds of compiling than the case allows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question with its right answer in float64, and its copy on the device."""

    question: Question
    want: dict[str, torch.Tensor]
    placed: Placed


@dataclass(kw_only=True, slots=True, eq=False, repr=False)
class Trial:
    """What the parts of a case work with. `enter` is told of each stage that is reached, `keep` writes the facts."""

    case: Case
    device: Device
    facts: Facts
    enter: Callable[[Stage], None] = lambda _: None
    keep: Callable[[Facts], None] = lambda _: None

    stage: Stage = Stage.SETUP
    seen: Seen = field(default_factory=Seen)

    @property
    def allowed(self) -> float:
        """How far a row may be off."""
        return ALLOWED[self.case.dtype]

    def reach(self, stage: Stage) -> None:
        """Go on to a stage."""
        if stage is not self.stage:
            self.stage = stage
            self.enter(stage)

    def spend(self, phase: Phase, seconds: float) -> None:
        """Add time to a phase."""
        self.facts.seconds[phase] = round(self.facts.seconds.get(phase, 0.0) + seconds, 6)

    def timed(self, phase: Phase, work: Callable[[], Any]) -> Any:
        """What the work gives, its time added to the phase."""
        start = perf_counter()
        try:
            return work()
        finally:
            self.spend(phase, perf_counter() - start)

    def compare(self, got: dict[str, torch.Tensor], asked: Asked) -> list[Difference]:
        """Both sides of every output and gradient."""
        dtype: torch.dtype = getattr(torch, self.case.dtype)
        found: list[Difference] = self.timed(Phase.COMPARE, lambda: compared(got, asked.want, dtype, self.allowed))
        return found


@dataclass(kw_only=True, slots=True, eq=False, repr=False)
class Watched:
    """What is seen of one part while it runs."""

    trial: Trial
    name: str
    seen: Seen = field(default_factory=Seen)
    differences: list[Difference] = field(default_factory=list)
    off_device: str = ""
    graphs: int = 0
    nodes: int = 0
    compile_seconds: float = 0.0
    cold: bool = False

    def tracked(self, work: Callable[[], Any]) -> Any:
        """What the work gives, all queued work done, with the ops and graphs that it took added to what was seen."""
        device = self.trial.device
        device.clear()
        try:
            result = work()
            device.synchronize()
            return result
        finally:
            with suppress(Exception):
                self.seen.read(device)
                self.trial.seen.read(device)
                if self.name == COMPILED:
                    self._count_graphs()

    def _count_graphs(self) -> None:
        for each in self.trial.device.compiled():
            self.graphs += 1
            self.nodes += each.nodes
            self.compile_seconds += each.compile_seconds
            self.cold = self.cold or not each.warm

    def look(self, tensors: dict[str, torch.Tensor]) -> None:
        """Note the first tensor that is not on the device."""
        for name, each in tensors.items():
            if each.device.type != self.trial.device.device and not self.off_device:
                self.off_device = f"{name} is on {each.device}"

    def failed(self, error: Exception) -> Part:
        """The part that an exception ended."""
        verdict = classify.of_exception(error)
        return self._part(
            verdict.outcome, verdict.rule, self.seen.ran_on, message=verdict.message, cause=verdict.cause,
            code=verdict.code, detail=verdict.detail,
        )  # fmt: skip

    def judged(self) -> Part:
        """The part that came to its end: wrong, too long in the compiler, or right with or without proof."""
        wrong = next((each for each in self.differences if each.wrong), None)
        if wrong is not None:
            return self._part(
                Outcome.FAIL, "assertion", self.seen.ran_on, message=self._told(wrong),
                cause=f"flex_attention: {wrong.name} of {self.name}",
            )  # fmt: skip
        limit = self.trial.case.compile_limit
        if self.compile_seconds > limit:
            self.trial.stage = Stage.COMPILE
            return self._part(
                Outcome.COMPILE_TIMEOUT, TIMEOUT, self.seen.ran_on, cause="flex_attention: compile limit",
                message=f"right, but compiling took {self.compile_seconds:.1f} s, more than the case's {limit:g} s",
            )  # fmt: skip
        proof = classify.of_proof(
            tracks=self.trial.device.tracks, executed=self.seen.executed, fallback=self.seen.fallback,
            outputs_on_device=not self.off_device, computes=True,
        )  # fmt: skip
        if self.name == COMPILED:
            proof = classify.of_compiled(proof, self.nodes)
        return self._part(proof.outcome, proof.rule, proof.ran_on, message=self._right())

    def _part(self, outcome: Outcome, rule: str, ran_on: str, **told: Any) -> Part:
        reached = self.seen.reached
        return Part(
            name=self.name, outcome=outcome.word, stage=self.trial.stage, rule=rule, ran_on=ran_on,
            executed=tuple(sorted(reached.executed)) if reached else (), fallback=self.seen.fallback_ops,
            differences=tuple(self.differences), graphs=self.graphs, nodes=self.nodes,
            compile_seconds=round(self.compile_seconds, 3), warm=bool(self.graphs) and not self.cold, **told,
        )  # fmt: skip

    def _told(self, worst: Difference) -> str:
        place = f" at {list(worst.place)}" if worst.place else ""
        return (
            f"{worst.name} is wrong: {worst.wrong}{place} (allowed {self.trial.allowed:g}); norm {worst.device:.6g} on "
            f"the device, {worst.dense:.6g} in the dense computation"
        )

    def _right(self) -> str:
        parts = ["right"]
        if self.differences:
            worst = self.differences[0]
            parts.append(f"a row of {worst.name} {worst.row:.2g} off at most (allowed {self.trial.allowed:g})")
        if self.seen.fallback_ops:
            parts.append(f"{', '.join(self.seen.fallback_ops)} on the CPU")
        if self.off_device:
            parts.append(self.off_device)
        if self.graphs:
            cache = "" if self.cold else ", found in the cache: the limit was not put to the test"
            limit = self.trial.case.compile_limit
            parts.append(f"{self.nodes} nodes compiled in {self.compile_seconds:.1f} s of {limit:g}{cache}")
        return ", ".join(parts)
