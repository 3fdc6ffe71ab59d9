"""Before the first test: the plan collected and the device surveyed, in children so that this process stays small."""

import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from conformance import plan
from conformance.engines import Child, Engine, Exit
from conformance.errors import IncompleteError, InterruptedRunError, UsageError
from conformance.plan import PlannedTest, Selection
from conformance.suites.collected import TOLD
from conformance.supervision.jobs import Answer, Collect, Place, Survey, decode_answer
from conformance.supervision.leases import Lease

ROUNDS: Final = 3
"""Times that each lease is asked for the device before a run gives up."""
REST: Final = 0.5
"""Seconds between two rounds, doubled each time."""
PATIENCE: Final = 600.0
"""Seconds that a suite may take from one word about its progress to the next, or a device to start."""
BETWEEN: Final = 5.0
"""Seconds between two lines about how far planning is."""


@dataclass(kw_only=True, slots=True)
class Planner:
    """Collects plans and surveys the device. `folder` takes answers and logs; `stopped` tells of Ctrl-C."""

    engine: Engine
    folder: Path
    target: str
    release: str
    stopped: Callable[[], bool]
    say: Callable[[str], None] = field(default=lambda _line: None)
    _asked: int = field(default=0)
    _overloads: str = field(default="")
    _ops: tuple[str, ...] = field(default=())

    def collect(self, selection: Selection) -> list[PlannedTest]:
        """Every planned test of the selection. Raises UsageError for what a suite does not know, or an empty plan."""
        asked = [self._ask(suite, selection) for suite in selection.suites]
        found = [test for each in asked for test in self._planned(each, selection)]
        wanted = set(selection.keys)
        chosen = [test for test in found if test.key in wanted] if wanted else found
        if not chosen:
            wish = repr(selection.keys[0]) if len(selection.keys) == 1 else "that the selection names"
            raise UsageError(f"nothing is planned: there is no test {wish} in suite {', '.join(selection.suites)}")
        return chosen

    def _ask(self, suite: str, selection: Selection) -> tuple[Collect, Child]:
        place, answer = self._place(suite, "plan", {})
        beside = str(self.folder.parent.absolute() / suite)
        job = Collect(place=place, selection=selection, plan=f"{answer}.plan", answer=answer, beside=beside)
        return job, self.engine.launch(job)

    def _planned(self, asked: tuple[Collect, Child], selection: Selection) -> list[PlannedTest]:
        """What a suite planned; a child that was killed before it could answer is asked once more."""
        suite, (job, child) = asked[0].place.suite, asked
        answer = self._answer(child, Path(job.answer))
        if child.exit() not in (None, Exit()):
            job, child = self._ask(suite, selection)
            answer = self._answer(child, Path(job.answer))
        self._require(answer, f"suite {suite!r} could not be planned; nothing was run, start it again")
        return plan.read(Path(job.plan))

    def survey(
        self, suite: str, leases: Sequence[Lease], overloads: Path | None = None, tests: Iterable[PlannedTest] = ()
    ) -> dict[str, str]:
        """The device's own environment. Raises IncompleteError when no lease can use the device.

        How it serves the aten overloads, those behind the ops of `tests` marked, is written to the file `overloads`.
        """
        self._overloads = str(overloads or "")
        self._ops = tuple(sorted({each.id.op for each in tests}))
        answer = Answer(error="no lease")
        for turn in range(ROUNDS):
            for lease in leases:
                answer = self._survey(suite, lease, reset=turn > 0)
                if answer.usage:
                    raise UsageError(answer.error)
                if not answer.error:
                    return answer.environment
            self._rest(REST * 2**turn)
        raise IncompleteError(f"the device of target {self.target!r} cannot be used: {answer.error}")

    def _survey(self, suite: str, lease: Lease, *, reset: bool) -> Answer:
        place, path = self._place(suite, "survey", lease.variables(reset=reset))
        job = Survey(place=place, answer=path, overloads=self._overloads, ops=self._ops)
        return self._answer(self.engine.launch(job), Path(path))

    def _place(self, suite: str, what: str, variables: Mapping[str, str]) -> tuple[Place, str]:
        self._asked += 1
        stem = self.folder / f"{what}-{suite}-{self._asked}"
        place = Place(suite=suite, target=self.target, release=self.release, variables=variables, log=f"{stem}.log")
        return place, f"{stem}.json"

    def _answer(self, child: Child, path: Path) -> Answer:
        until, heard, said = time.monotonic() + PATIENCE, "", time.monotonic()
        while (end := child.exit()) is None:
            if (now := _progress_of(child)) != heard:
                heard, until = now, time.monotonic() + PATIENCE
                if time.monotonic() - said >= BETWEEN:
                    said = time.monotonic()
                    self.say(heard)
            if time.monotonic() > until:
                child.signal(signal.SIGKILL)
                return Answer(error=f"no answer within {PATIENCE:g} s")
            if self.stopped():
                raise InterruptedRunError("interrupted while planning: nothing was run")
            self.engine.wait(0.2)
        try:
            return decode_answer.decode(path.read_bytes())
        except FileNotFoundError:
            last = child.log_tail(2_000).strip().splitlines()
            return Answer(error=f"the child {end.words}" + (f" ({last[-1]})" if last else ""))

    def _require(self, answer: Answer, what: str) -> None:
        if answer.usage:
            raise UsageError(answer.error)
        if answer.error:
            raise IncompleteError(f"{what}: {answer.error}")

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.stopped():
            self.engine.wait(0.1)


def decided(tests: Iterable[PlannedTest]) -> int:
    """How many tests were settled by a rule while planning."""
    return sum(test.decided is not None for test in tests)


def _progress_of(child: Child) -> str:
    """The last line that a planning child wrote about how far it is."""
    lines = child.log_tail(2_000).splitlines()
    return next((line for line in reversed(lines) if line.startswith(TOLD)), "")
