"""What pages show and JSON says: plain values, outcomes as words, times in UTC, seconds by phase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from conformance.outcomes import Outcome, TestId, right
from conformance.store import AttemptRow, HistoryRow, OutcomeRow, RunRow, Tally


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A run in one line. `passed`: pass; `right`: pass + fallback; both are shown over `eligible`."""

    run: str
    target: str
    release: str
    simulated: bool
    torch: str
    profile: str
    whole: bool
    sealed: bool
    planned: int
    eligible: int
    passed: int
    right: int
    not_run: int
    flaky: int
    outcomes: Mapping[str, int]
    started: datetime
    finished: datetime
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Test:
    """Identity of a test. `number` is its address here; `key` its identity everywhere."""

    __test__ = False

    number: int
    key: str
    suite: str
    file: str
    cls: str
    name: str
    op: str
    variant: str
    dtype: str
    kind: str

    @property
    def title(self) -> str:
        """What people call it: the identity without the suite."""
        return self.key.removeprefix(f"{self.suite}::")


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """What one attempt came to; `detail` is the traceback, or empty; `alone`: in a process of its own."""

    number: int
    outcome: str
    ran_on: str
    stage: str
    rule: str
    message: str
    cause: str
    code: str
    fallback_ops: Sequence[str]
    seconds: Mapping[str, float]
    detail: str
    alone: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """What one test came to in one run.

    `leaked` is what it left changed for the next test; `order_dependent`: it ends otherwise alone than among others;
    `reused` is the earlier run that the outcome was taken over from, or empty.
    """

    test: Test
    outcome: str
    flaky: bool
    order_dependent: bool
    leaked: Sequence[str]
    attempts: int
    ran_on: str
    stage: str
    rule: str
    message: str
    cause: str
    code: str
    fallback_ops: Sequence[str]
    seconds: Mapping[str, float]
    reused: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """What a test came to in one of the runs that planned it. `changed`: the test itself changed after this run."""

    run: Run
    outcome: str
    flaky: bool
    rule: str
    cause: str
    fallback_ops: Sequence[str]
    changed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """The tests of a run with one label."""

    label: str
    planned: int
    eligible: int
    passed: int
    right: int
    outcomes: Mapping[str, int]


def words(counts: Mapping[Outcome, int]) -> dict[str, int]:
    """Counts by the outcome's word, zeros left out."""
    return {each.word: number for each, number in counts.items() if number}


def run_of(row: RunRow) -> Run:
    """A stored run."""
    return Run(
        run=row.uid, not_run=row.counts.get(Outcome.NOT_RUN, 0), outcomes=words(row.counts),
        **_alike(row, Run, "run", "not_run", "outcomes"),
    )  # fmt: skip


def test_of(number: int, test: TestId) -> Test:
    """A stored test."""
    return Test(number=number, **_alike(test, Test, "number"))


def ended_of(row: OutcomeRow) -> Ended:
    """An outcome."""
    return Ended(test=test_of(row.number, row.id), outcome=row.outcome.word, **_alike(row, Ended, "test", "outcome"))


def attempt_of(row: AttemptRow) -> Attempt:
    """A kept attempt."""
    return Attempt(outcome=row.outcome.word, **_alike(row, Attempt, "outcome"))


def past_of(rows: Sequence[HistoryRow]) -> list[Past]:
    """A history, newest first; a row whose definition is not the newest one's is marked."""
    return [
        Past(
            run=run_of(row.run), outcome=row.outcome.word, changed=row.definition != rows[0].definition,
            **_alike(row, Past, "run", "outcome", "changed"),
        )
        for row in rows
    ]  # fmt: skip


def _alike(row: object, shape: type, *others: str) -> dict[str, Any]:
    """What a shape takes over from a stored row under the same name: all of its fields but `others`."""
    return {each.name: getattr(row, each.name) for each in fields(shape) if each.name not in others}


def counted_of(tally: Tally) -> Counted:
    """A tally."""
    return Counted(
        label=tally.label, planned=tally.planned, eligible=tally.eligible, passed=tally.counts.get(Outcome.PASS, 0),
        right=right(tally.counts), outcomes=words(tally.counts),
    )  # fmt: skip
