"""One op of a run, and lists of a run's tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Depends, HTTPException, Request

from conformance.store import Filter, Kind, outcome_rows
from web.answers import View, page
from web.pages.choosing import Choice, Words, choice, labelled
from web.pages.dtypes import dtype_order
from web.pages.finding import opened, view_of
from web.shapes import Ended, Run, ended_of, run_of

router = APIRouter()

_TESTS_A_PAGE: Final = 100
_TESTS_OF_AN_OP: Final = 2000
"""More than any op of the suites has (variants x dtypes x kinds); a page that had to leave some out says so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpTests:
    """All tests of an op in a run. `total` counts all that were asked for, also where `tests` had to be cut."""

    run: Run
    remark: str
    op: str
    kind: Sequence[str]
    dtype: Sequence[str]
    total: int
    tests: Sequence[Ended]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunTests:
    """Tests of a run that a choice finds, by number. `next` is the `after` of the next page, None on the last one."""

    run: Run
    remark: str
    total: int
    tests: Sequence[Ended]
    next: int | None


@page(router, "/runs/{run:path}/op")
def one_op(request: Request, run: str, name: str, kind: Words = [], dtype: Words = []) -> View:  # noqa: B006
    """All tests of an op in a run by kind, variant and dtype, with rules and reasons."""
    store, found = opened(request, run)
    chosen = Filter(parts=labelled({Kind.OP: [name], Kind.KIND: kind, Kind.DTYPE: dtype}))
    rows = outcome_rows(store, found.run, chosen, limit=_TESTS_OF_AN_OP)
    if not rows.total:
        raise HTTPException(404, f"run {found.run.uid} has no such test of op {name!r}: its matrix lists all ops")
    data = OpTests(
        run=run_of(found.run), remark=found.remark, op=name, kind=kind, dtype=dtype, total=rows.total,
        tests=[ended_of(each) for each in rows.rows],
    )  # fmt: skip
    return view_of(found.run, f"{name} in {found.run.uid}", "op.html", data, grid=grid(data.tests))


@dataclass(frozen=True, kw_only=True, slots=True)
class GridRow:
    """One kind (and variant) of an op: the tests of each dtype, in the order of the grid's dtypes."""

    kind: str
    variant: str
    cells: Sequence[Sequence[Ended]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """The tests of an op by kind and variant, and dtype."""

    dtypes: Sequence[str]
    rows: Sequence[GridRow]


def grid(tests: Sequence[Ended]) -> Grid:
    """Lay tests out; one cell may hold several."""
    found = list({each.test.dtype for each in tests})
    dtypes = [found[place] for place in dtype_order(found)]
    lines = sorted({(each.test.kind, each.test.variant) for each in tests})
    cells: dict[tuple[str, str, str], list[Ended]] = {}
    for each in tests:
        cells.setdefault((each.test.kind, each.test.variant, each.test.dtype), []).append(each)
    rows = [
        GridRow(kind=kind, variant=variant, cells=[cells.get((kind, variant, dtype), []) for dtype in dtypes])
        for kind, variant in lines
    ]
    return Grid(dtypes=dtypes, rows=rows)


@page(router, "/runs/{run:path}/tests")
def run_tests(request: Request, run: str, chosen: Annotated[Choice, Depends(choice)], after: int = -1) -> View:
    """The tests of a run that the address asks for: by outcome, suite, kind, op, dtype, rule, cause, text.

    `flaky`, `order` and `leaks` leave those that disagreed, depend on the order or left something changed.
    """
    store, found = opened(request, run)
    rows = outcome_rows(store, found.run, chosen.filter, after=after, limit=_TESTS_A_PAGE)
    data = RunTests(
        run=run_of(found.run), remark=found.remark, total=rows.total,
        tests=[ended_of(each) for each in rows.rows], next=rows.after,
    )  # fmt: skip
    return view_of(found.run, f"Tests of {found.run.uid}", "tests.html", data, chosen=chosen, after=after)
