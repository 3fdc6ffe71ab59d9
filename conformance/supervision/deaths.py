"""From how a child ended to an attempt at the test it was in."""

from dataclasses import replace

from conformance.engines import Exit
from conformance.outcomes import Attempt, Outcome, RanOn
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
    compiling = limit is Overdue.COMPILE
    allowed = limits.compile if compiling else limits.test
    what = "compile_timeout" if compiling else "timeout"
    return Attempt(
        outcome=Outcome.COMPILE_TIMEOUT if compiling else Outcome.TIMEOUT, rule=what, ran_on=RanOn.UNKNOWN,
        stage=test.stage, seconds=test.phases(now), detail=log, cause=f"{what} in {test.stage}",
        message=f"killed in stage {test.stage} after more than {allowed:g} s (--{what.replace('_', '-')})",
    )  # fmt: skip


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
