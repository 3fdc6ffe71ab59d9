"""What a child's journal says while it runs: the open test, how long it has been at it, what has ended."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from conformance import journal
from conformance.journal import Record
from conformance.outcomes import Outcome, Phase, Stage

COMPILING: Final = frozenset({Stage.COMPILE, Stage.WARM})
"""Stages that the compiler has to itself: the second is that of a compilation whose cache is warm."""

_PHASES = {
    Stage.SETUP: Phase.SETUP, Stage.COMPILE: Phase.COMPILE, Stage.COMPARE: Phase.COMPARE,
    Stage.WARM: Phase.COMPILE_WARM, Stage.BUILD: Phase.BUILD, Stage.MOVE: Phase.SETUP, Stage.REFERENCE: Phase.COMPARE,
    Stage.COMPILED_COMPARE: Phase.COMPARE,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Seconds: a test without its compile stages, each of these, a child with no test open.

    `stages` are bounds of single stages, under these.
    """

    test: float = 120.0
    compile: float = 600.0
    idle: float = 300.0
    stages: Mapping[Stage, float] = field(default_factory=dict)

    def of(self, stage: Stage) -> float | None:
        """The bound of a stage by itself; None without one."""
        compiling = self.compile if stage in COMPILING else None
        return min((each for each in (self.stages.get(stage), compiling) if each is not None), default=None)


class Overdue(StrEnum):
    """Which limit a child passed."""

    TEST = "test"
    COMPILE = "compile"
    STAGE = "stage"
    IDLE = "idle"


@dataclass(slots=True)
class OpenTest:
    """A test that was begun and has not ended; `spent` are the seconds of the stages it has left behind."""

    key: str
    number: int
    stage: Stage
    since: float
    spent: dict[Stage, float] = field(default_factory=dict)

    def seconds(self, now: float) -> dict[Stage, float]:
        """Seconds by stage, the present one included."""
        return {**self.spent, self.stage: self.spent.get(self.stage, 0.0) + now - self.since}

    def phases(self, now: float) -> dict[str, float]:
        """Seconds by phase, for the record of an attempt."""
        phases: dict[str, float] = {}
        for stage, spent in self.seconds(now).items():
            phase = _PHASES.get(stage, Phase.EXECUTE)
            phases[phase] = phases.get(phase, 0.0) + spent
        return phases


@dataclass(slots=True)
class Watch:
    """Follows one child. Times are of the monotonic clock."""

    limits: Limits
    since: float
    began: float | None = None
    open: OpenTest | None = None
    ended: dict[str, journal.End] = field(default_factory=dict)
    ready: bool = False
    closed: bool = False
    trouble: str = ""

    def take(self, records: Iterable[Record], now: float) -> None:
        """Take in what the child appended."""
        for record in records:
            self.since = now
            match record:
                case journal.Begin(t=key, n=number):
                    self.began = now if self.began is None else self.began
                    self.open = OpenTest(key, number, Stage.SETUP, now)
                case journal.Staged(t=key, s=stage) if self.open and self.open.key == key:
                    self.open = OpenTest(key, self.open.number, stage, now, self.open.seconds(now))
                case journal.End(t=key):
                    self.ended[key] = record
                    self.open = None
                case journal.Session(state=state, why=why):
                    self._session(state, why)
                case _:
                    pass

    def _session(self, state: str, why: str) -> None:
        self.ready = self.ready or state == "ready"
        self.closed = state == "closed"
        if state == "unusable":
            self.trouble = why

    def overdue(self, now: float) -> Overdue | None:
        """The limit that the child has passed, if any."""
        if self.open is None:
            return Overdue.IDLE if now - self.since > self.limits.idle else None
        spent = self.open.seconds(now)
        bound = self.limits.of(self.open.stage)
        if bound is not None and spent[self.open.stage] > bound:
            return Overdue.COMPILE if self.open.stage in COMPILING else Overdue.STAGE
        running = sum(seconds for stage, seconds in spent.items() if stage not in COMPILING)
        return Overdue.TEST if running > self.limits.test else None

    def pace(self, now: float) -> float:
        """Seconds that each of its tests took so far; 0 before the first has ended."""
        return (now - self.began) / len(self.ended) if self.ended and self.began is not None else 0.0

    @property
    def lost_to_machine(self) -> list[str]:
        """Tests whose attempt the child itself put down to the machine."""
        return [key for key, end in self.ended.items() if end.o is Outcome.INFRA]

    @property
    def progressed(self) -> bool:
        """Whether the child brought the run forward: a test ended, or one can be blamed for the child's end."""
        return self.open is not None or len(self.ended) > len(self.lost_to_machine)
