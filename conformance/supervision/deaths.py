"""From how a child ended to an attempt at the test it was in."""

from dataclasses import replace
from typing import Final

from conformance.engines import Exit
from conformance.outcomes import Attempt, Outcome, RanOn, Stage
from conformance.supervision.ledger import DIED, DIED_AGAIN
from conformance.supervision.watch import Limits, OpenTest, Overdue

LONGEST_LOG = 8_000
"""Characters of a dead child's output kept with its attempt."""


def crash(test: OpenTest, end: Exit, log: str, now: float, *, alone: bool) -> Attempt:
    """The attempt at a test in which the process died."""
    where = "again, alone, " if alone else ""
    return Attempt(
        outcome=Outcome.CRASH, rule=DIED_AGAIN if alone else DIED, ran_on=RanOn.UNKNOWN, stage=test.stage,
        seconds=test.phases(now), message=f"the process {end.words} {where}in stage {test.stage}",
        cause=f"process {end.words}", detail=log,
    )  # fmt: skip


def left_suite(test: OpenTest, log: str, now: float) -> Attempt:
    """The attempt at a test whose exception left the suite: a KeyboardInterrupt, or a fault of the suite."""
    last = next((line for line in reversed(log.splitlines()) if line.strip()), "no traceback was written")
    return Attempt(
        outcome=Outcome.ERROR, rule="left-suite", ran_on=RanOn.UNKNOWN, stage=test.stage, seconds=test.phases(now),
        message=f"an exception left the suite: {last}", cause=last, detail=log,
    )  # fmt: skip


def timeout(test: OpenTest, limit: Overdue, limits: Limits, log: str, now: float) -> Attempt:
    """The attempt at a test that was killed for the time it took."""
    allowed = limits.test if limit is Overdue.TEST else limits.of(test.stage)
    what, option = _OVERDUE[limit]
    outcome = Outcome.COMPILE_TIMEOUT if limit is Overdue.COMPILE else Outcome.TIMEOUT
    if test.stage in (Stage.BUILD, Stage.REFERENCE):
        # The CPU's part of a model's test: nothing was asked of the device yet.
        outcome, what = Outcome.INVALID, "reference-timeout"
    return Attempt(
        outcome=outcome, rule=what, ran_on=RanOn.UNKNOWN, stage=test.stage, seconds=test.phases(now), detail=log,
        cause=f"{what} in {test.stage}",
        message=f"killed in stage {test.stage} after more than {allowed:g} s ({option})",
    )  # fmt: skip


_OVERDUE: Final = {
    Overdue.TEST: ("timeout", "--timeout"),
    Overdue.COMPILE: ("compile_timeout", "--compile-timeout"),
    Overdue.STAGE: ("timeout", "--stage-timeout"),
    Overdue.IDLE: ("timeout", "idle"),
}
"""The rule of a limit, and the option that sets it."""


def spoiled(attempt: Attempt, why: str) -> Attempt:
    """The same attempt, put down to the machine because the device was sick right after it."""
    return replace(
        attempt, outcome=Outcome.INFRA, rule="sick-device", cause="sick device",
        message=f"{attempt.message}; then the device was unusable: {why}",
    )  # fmt: skip


def passed_over(end: Exit, log: str, times: int) -> Attempt:
    """The attempt at a test that its suite did not start, so many times."""
    died = end.signal != 0
    return Attempt(
        outcome=Outcome.CRASH if died else Outcome.ERROR, rule="never-started", ran_on=RanOn.NONE,
        message=f"the child {end.words}, {times} times, without starting this test", cause="never started", detail=log,
    )  # fmt: skip
