"""The tests of a comparison, class by class: what blocks comes first, whatever the page."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import HTTPException

from conformance.pairs import PairClass
from conformance.store import Comparison, DiffRow, SideOf, Store, diff_rows
from web.pages.finding import class_named
from web.shapes import Test, test_of


@dataclass(frozen=True, kw_only=True, slots=True)
class OneSide:
    """A test on one side; `outcome` is empty where this run did not plan it."""

    outcome: str
    flaky: bool
    rule: str
    cause: str
    message: str
    fallback_ops: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """A test in both runs. `renamed_from` is its key in a when that was another."""

    test: Test
    change: str
    a: OneSide
    b: OneSide
    renamed_from: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """Some tests, ordered by class and number. `next` names the last one for the next page, empty at the end."""

    rows: Sequence[Changed]
    total: int
    next: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The last test of a page: in an address `regressed.123`."""

    pair: PairClass
    number: int


def place_named(text: str) -> Place | None:
    """The place that an address names, None for the beginning; 400 for anything else."""
    if not text:
        return None
    word, _, number = text.partition(".")
    if not number.isdecimal():
        raise HTTPException(400, f"the parameter 'after' is {text!r}: take it from 'next' of the page before")
    return Place(pair=class_named(word), number=int(number))


def changes_after(
    store: Store,
    compared: Comparison,
    wanted: Sequence[PairClass],
    reason: int | None,
    last: Place | None,
    limit: int,
) -> Changes:
    """The tests of the wanted classes, in the order of these, after a place; one query a class that is shown."""
    left = list(wanted)
    if last is not None:
        left = left[left.index(last.pair) :] if last.pair in left else []
    rows: list[DiffRow] = []
    for pair in left:
        after = last.number if last is not None and last.pair is pair else -1
        # One more than is shown tells whether there is a next page.
        rows.extend(diff_rows(store, compared, [pair], reason=reason, after=after, limit=limit + 1 - len(rows)).rows)
        if len(rows) > limit:
            break
    shown = rows[:limit]
    return Changes(
        rows=[_changed(each) for each in shown],
        total=diff_rows(store, compared, wanted, reason=reason, limit=1).total,
        next=f"{shown[-1].pair.word}.{shown[-1].number}" if len(rows) > limit else "",
    )


def _changed(row: DiffRow) -> Changed:
    return Changed(
        test=test_of(row.number, row.id), change=row.pair.word, a=_side(row.a), b=_side(row.b),
        renamed_from=row.renamed_from,
    )  # fmt: skip


def _side(side: SideOf) -> OneSide:
    return OneSide(
        outcome=side.outcome.word if side.outcome else "", flaky=side.flaky, rule=side.rule, cause=side.cause,
        message=side.message, fallback_ops=side.fallback_ops,
    )  # fmt: skip
