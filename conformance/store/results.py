"""Outcomes of single tests: the rows of a run, the history of a test, the attempts kept of both."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from conformance.outcomes import FLAKY, Outcome, Source, TestId, outcome_of
from conformance.store import readings
from conformance.store.catalogue import catalogue, like, numbered_tests
from conformance.store.phrases import Kind
from conformance.store.runs import RunRow, runs_by_uid
from conformance.store.store import Store, phrase_bodies
from conformance.store.vectors import PHRASES, RAN_ON, STAGES

PAGE: Final = 2_000
"""Rows that are read at a time where all are wanted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeRow:
    """What one test came to in one run. `seconds` maps Phase words to seconds, at most 0.54 % off.

    `source` is upstream's side of a skip or an expected failure, None where none was recorded. `leaked` is what the
    test left changed for the next one; `order_dependent` that it ends otherwise alone than among others. `reused` is
    the earlier run that the outcome was taken over from, empty for a test that ran.
    """

    number: int
    id: TestId
    outcome: Outcome
    flaky: bool
    attempts: int
    ran_on: str
    stage: str
    rule: str
    message: str
    cause: str
    code: str
    fallback_ops: tuple[str, ...]
    seconds: Mapping[str, float]
    source: Source | None = None
    leaked: tuple[str, ...] = ()
    order_dependent: bool = False
    reused: str = ""

    @property
    def key(self) -> str:
        """The identity as one string."""
        return self.id.key


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptRow:
    """One kept attempt; `detail` is the traceback or whatever else the test left.

    `alone`: no other test ran in its process.
    """

    number: int
    outcome: Outcome
    ran_on: str
    stage: str
    rule: str
    message: str
    cause: str
    code: str
    fallback_ops: tuple[str, ...]
    seconds: Mapping[str, float]
    detail: str
    alone: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """Which tests of a run are wanted; what is empty does not restrict.

    `parts` maps a part of the identity to the label, or the labels, that it has exactly; `text` is part of the key.
    """

    outcomes: frozenset[Outcome] = frozenset()
    parts: Mapping[Kind, str | frozenset[str]] = field(default_factory=dict)
    rule: str = ""
    cause: str = ""
    flaky: bool = False
    order_dependent: bool = False
    leaked: bool = False
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomePage:
    """Some of the tests that a filter finds, by number. `after` is where the next page starts, None at the end."""

    rows: Sequence[OutcomeRow]
    total: int
    after: int | None


def outcome_rows(store: Store, run: RunRow, chosen: Filter, *, after: int = -1, limit: int = 100) -> OutcomePage:
    """The tests of a run that a filter finds, page by page; `total` counts all of them."""
    found = np.flatnonzero(mask(store, run, chosen))
    page = found[np.searchsorted(found, after, side="right") :][: limit + 1]
    rows = rows_of(store, run, page[:limit].tolist())
    return OutcomePage(rows=rows, total=len(found), after=int(page[limit - 1]) if len(page) > limit else None)


def every_outcome(store: Store, run: RunRow, chosen: Filter) -> Iterator[OutcomeRow]:
    """All tests that a filter finds, by number, some thousands at a time in memory."""
    after: int | None = -1
    while after is not None:
        page = outcome_rows(store, run, chosen, after=after, limit=PAGE)
        yield from page.rows
        after = page.after


def mask(store: Store, run: RunRow, chosen: Filter) -> NDArray[np.bool_]:
    """Which tests a filter finds, shape (tests of the run's vectors,)."""
    status = readings.status(store, run)
    wanted: NDArray[np.bool_] = status != 0
    if chosen.outcomes:
        wanted &= np.isin(status & ~np.uint8(FLAKY), [int(each) for each in chosen.outcomes])
    if chosen.flaky:
        wanted &= (status & FLAKY) != 0
    for name, asked in (("order_dependent", chosen.order_dependent), ("leaked", chosen.leaked)):
        if asked:
            wanted &= readings.side(store, run, name) != 0
    if chosen.parts:
        known = catalogue(store)
        for part, labels in chosen.parts.items():
            codes = [known.code(part, each) for each in ({labels} if isinstance(labels, str) else labels)]
            wanted &= np.isin(known.codes[part][: len(status)], codes)
    for name, text in (("rule", chosen.rule), ("cause", chosen.cause)):
        if text:
            wanted &= np.isin(readings.phrase_numbers(store, run, name), _phrase_numbers(store, name, text))
    return wanted & _containing(store, chosen.text, len(status)) if chosen.text else wanted


def _phrase_numbers(store: Store, name: str, text: str) -> list[int]:
    rows = store.rows(
        "SELECT id FROM phrase WHERE kind = :kind AND body = :body", kind=int(Kind[name.upper()]), body=text
    )
    return [row["id"] for row in rows]


def _containing(store: Store, text: str, size: int) -> NDArray[np.bool_]:
    found = np.zeros(size, np.bool_)
    rows = store.rows("SELECT id FROM test WHERE key ILIKE :pattern AND id < :size", pattern=like(text), size=size)
    found[[row["id"] for row in rows]] = True
    return found


def rows_of(store: Store, run: RunRow, numbers: Sequence[int]) -> list[OutcomeRow]:
    """The outcomes of these tests of a run, in the order given."""
    tests, texts = numbered_tests(store, numbers), phrases_at(store, run, numbers, PHRASES)
    status, seconds = readings.status(store, run), readings.seconds_at(store, run, numbers)
    attempts, ran_on, stage = (readings.side(store, run, name) for name in ("attempts", "ran_on", "stage"))
    ordered = readings.side(store, run, "order_dependent")
    rows = []
    for place, number in enumerate(numbers):
        outcome, flaky = outcome_of(int(status[number]))
        said = texts[place]
        rows.append(
            OutcomeRow(
                number=number, id=tests[number].id, outcome=outcome or Outcome.NOT_RUN, flaky=flaky,
                attempts=int(attempts[number]), ran_on=RAN_ON[int(ran_on[number])], stage=STAGES[int(stage[number])],
                rule=said["rule"], message=said["message"], cause=said["cause"], code=said["code"],
                fallback_ops=ops_of(said["fallback"]), seconds=seconds[place], source=source_of(said["source"]),
                leaked=ops_of(said["leaked"]), order_dependent=bool(ordered[number]),
                reused=said["reused"],
            )
        )  # fmt: skip
    return rows


def phrases_at(store: Store, run: RunRow, numbers: Sequence[int], names: Iterable[str]) -> list[Mapping[str, str]]:
    """The texts of some tests of a run: one mapping a test from column name to text."""
    columns = {name: readings.phrase_numbers(store, run, name)[list(numbers)].tolist() for name in names}
    bodies = phrase_bodies(store, [each for column in columns.values() for each in column])
    return [{name: bodies[column[place]] for name, column in columns.items()} for place in range(len(numbers))]


def ops_of(phrase: str) -> tuple[str, ...]:
    """The ops of a stored fallback set."""
    return tuple(phrase.split("\n")) if phrase else ()


def source_of(phrase: str) -> Source | None:
    """A stored source; None for none, or for one that a later version of this program wrote otherwise."""
    try:
        return msgspec.json.decode(phrase, type=Source) if phrase else None
    except msgspec.DecodeError:
        return None


def slowest(store: Store, run: RunRow, limit: int = 10) -> list[OutcomeRow]:
    """The tests that took longest, all phases together, longest first."""
    seconds = readings.seconds(store, run)
    if not seconds:
        return []
    total = np.sum(list(seconds.values()), axis=0)
    found = np.argsort(-total, kind="stable")[:limit]
    return rows_of(store, run, [int(each) for each in found if total[each] > 0])


def attempts_of(store: Store, run: RunRow, number: int) -> Sequence[AttemptRow]:
    """The kept attempts of a run at a test, in order: those of failures and of tests tried more than once."""
    rows = store.rows(
        "SELECT number, outcome, ran_on, stage, seconds, alone, blob.body AS detail, rule.body AS rule, "
        "cause.body AS cause, code.body AS code, message.body AS message, fallback.body AS fallback FROM attempt "
        "LEFT JOIN blob ON blob.id = attempt.detail LEFT JOIN phrase rule ON rule.id = attempt.rule "
        "LEFT JOIN phrase cause ON cause.id = attempt.cause LEFT JOIN phrase code ON code.id = attempt.code "
        "LEFT JOIN phrase message ON message.id = attempt.message "
        "LEFT JOIN phrase fallback ON fallback.id = attempt.fallback "
        "WHERE run_id = :run AND test_id = :number ORDER BY number",
        run=run.number, number=number,
    )  # fmt: skip
    return [_attempt(dict(row)) for row in rows]


def details_of(store: Store, run: RunRow, numbers: Sequence[int]) -> dict[int, str]:
    """What the last attempt that left a traceback left, by the test's number; tests without one are left out."""
    rows = store.rows(
        "SELECT DISTINCT ON (test_id) test_id, blob.body AS detail FROM attempt JOIN blob ON blob.id = attempt.detail "
        "WHERE run_id = :run AND test_id = ANY(:numbers) ORDER BY test_id, number DESC",
        run=run.number, numbers=list(numbers),
    )  # fmt: skip
    return {row["test_id"]: zlib.decompress(row["detail"]).decode() for row in rows}


def _attempt(row: Mapping[str, Any]) -> AttemptRow:
    detail = zlib.decompress(row["detail"]).decode() if row["detail"] is not None else ""
    return AttemptRow(
        number=row["number"], outcome=Outcome(row["outcome"]), ran_on=row["ran_on"], stage=row["stage"],
        rule=row["rule"] or "", message=row["message"] or "", cause=row["cause"] or "", code=row["code"] or "",
        fallback_ops=ops_of(row["fallback"] or ""), seconds=row["seconds"], detail=detail,
        alone=row["alone"],
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryRow:
    """What a test came to in one of the runs that planned it."""

    run: RunRow
    outcome: Outcome
    flaky: bool
    rule: str
    cause: str
    fallback_ops: tuple[str, ...]
    definition: int


def history(store: Store, number: int, limit: int = 50) -> list[HistoryRow]:
    """A test over the runs that planned it, newest first. `definition` differs where the test itself changed."""
    rows = store.rows(
        # substring reads one slice of the stored vector where get_byte alone would read it whole.
        "SELECT run.uid, get_byte(substring(status FROM :number + 1 FOR 1), 0) AS status FROM run "
        "JOIN vector ON run_id = run.id WHERE octet_length(status) > :number "
        "AND get_byte(substring(status FROM :number + 1 FOR 1), 0) <> 0 "
        "ORDER BY started DESC, run.id DESC LIMIT :limit",
        number=number, limit=limit,
    )  # fmt: skip
    runs = runs_by_uid(store, [row["uid"] for row in rows])
    return [_history_row(store, runs[row["uid"]], number, row["status"]) for row in rows if row["uid"] in runs]


def _history_row(store: Store, run: RunRow, number: int, status: int) -> HistoryRow:
    outcome, flaky = outcome_of(status)
    (said,) = phrases_at(store, run, [number], ("rule", "cause", "fallback"))
    return HistoryRow(
        run=run, outcome=outcome or Outcome.NOT_RUN, flaky=flaky, rule=said["rule"], cause=said["cause"],
        fallback_ops=ops_of(said["fallback"]), definition=int(readings.definition(store, run)[number]),
    )  # fmt: skip
