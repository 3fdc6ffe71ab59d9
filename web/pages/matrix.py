"""Op by dtype of a run: the body is built as strings, since a template loop over 8,000 cells is five times slower."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_plus

from fastapi import APIRouter, Request
from markupsafe import Markup, escape

from conformance.outcomes import Outcome, eligible
from conformance.store import Filter, Kind, Matrix, by_outcome, matrix, tally
from web import text
from web.answers import View, page
from web.links import NO_LABEL
from web.marks import SHORT
from web.pages.choosing import Words, labelled
from web.pages.dtypes import dtype_order
from web.pages.finding import opened, outcome_named, view_of
from web.shapes import Run, run_of, words

router = APIRouter()

STANDS_FOR_A_CELL: Final = (
    Outcome.FAIL,
    Outcome.CRASH,
    Outcome.TIMEOUT,
    Outcome.ERROR,
    Outcome.COMPILE_TIMEOUT,
    Outcome.COMPILE_FAIL,
    Outcome.XPASS,
    Outcome.SKIP_UNCLASSIFIED,
    Outcome.SKIP_COVERAGE,
    Outcome.FALLBACK,
    Outcome.UNPROVEN,
    Outcome.XFAIL,
    Outcome.PASS,
    Outcome.NOT_RUN,
    Outcome.SKIP_ENVIRONMENT,
    Outcome.INFRA,
    Outcome.INVALID,
    Outcome.SKIP_ELIGIBILITY,
)
"""A cell of several tests shows the first of these that one of them ended as; all counts are in its title."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """The tests of one op and dtype. `outcome` stands for them; the numbers are of the eligible ones."""

    outcome: str
    passed: int
    eligible: int
    outcomes: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One op, cells in the order of the matrix' dtypes; None where the plan has no test."""

    op: str
    cells: Sequence[Cell | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunMatrix:
    """Op by dtype. `kind` empty: all kinds together. `kinds`: those the run has. `ops`: rows before `q` and `show`."""

    run: Run
    remark: str
    kind: Sequence[str]
    kinds: Sequence[str]
    dtypes: Sequence[str]
    ops: int
    rows: Sequence[Row]


@page(router, "/runs/{run:path}/matrix")
def run_matrix(request: Request, run: str, kind: Words = [], q: str = "", show: str = "") -> View:  # noqa: B006
    """Op by dtype; `kind` (repeated) restricts the tests, `q` is part of an op's name, `show` an outcome in a row."""
    store, found = opened(request, run)
    table = matrix(store, found.run, Filter(parts=labelled({Kind.KIND: kind})))
    order = dtype_order(table.dtypes)
    rows = _rows(table, order, q.casefold(), outcome_named(show) if show else None)
    data = RunMatrix(
        run=run_of(found.run), remark=found.remark, kind=kind,
        kinds=[each.label or NO_LABEL for each in tally(store, found.run, Kind.KIND)],
        dtypes=[table.dtypes[each] for each in order], ops=len(table.ops), rows=rows,
    )  # fmt: skip
    return view_of(found.run, f"Matrix of {found.run.uid}", "matrix.html", data, q=q, show=show, body=body(data))


def _rows(table: Matrix, order: Sequence[int], wanted: str, show: Outcome | None) -> list[Row]:
    cells = _cells(table)
    lines = [cells[start : start + len(table.dtypes)] for start in range(0, len(cells), len(table.dtypes) or 1)]
    return [
        Row(op=op, cells=[cells[place] for place in order])
        for op, cells in zip(table.ops, lines, strict=True)
        if wanted in op.casefold() and (show is None or any(cell and show.word in cell.outcomes for cell in cells))
    ]


def _cells(table: Matrix) -> list[Cell | None]:
    """Every cell, row by row. Most are alike: each different one is made once, and equal ones are one object."""
    numbers = table.counts.reshape(-1, table.counts.shape[2])
    packed, size = numbers.tobytes(), numbers.strides[0]
    made: dict[bytes, Cell | None] = {bytes(size): None}
    cells = []
    for place in range(len(numbers)):
        key = packed[place * size : (place + 1) * size]
        if key not in made:
            made[key] = _cell(by_outcome(numbers[place]))
        cells.append(made[key])
    return cells


def _cell(counts: Mapping[Outcome, int]) -> Cell:
    stands = next(each for each in STANDS_FOR_A_CELL if each in counts)
    return Cell(
        outcome=stands.word, passed=counts.get(Outcome.PASS, 0), eligible=eligible(counts), outcomes=words(counts)
    )


def body(data: RunMatrix) -> Markup:
    """The rows of the table. Addresses are relative to the page, so that 8,000 of them stay short."""
    kind = "".join(f"&kind={quote_plus(each, errors='replace')}" for each in data.kind)
    columns = [f"&dtype={quote_plus(each or NO_LABEL, errors='replace')}" for each in data.dtypes]
    made: dict[int, str] = {}
    lines = []
    for row in data.rows:
        # Quoted text has no character that HTML gives a meaning to, so it may stand in an attribute as it is.
        op = f'<a href="op?name={quote_plus(row.op, errors="replace")}{kind}'
        cells = [
            f"<td>{op}{column}{_within(cell, made)}" if cell else "<td>"
            for column, cell in zip(columns, row.cells, strict=True)
        ]
        lines.append(f'<tr><th scope="row">{op}">{escape(text.name(row.op))}</a>{"".join(cells)}')
    return Markup("\n".join(lines))


def _within(cell: Cell, made: dict[int, str]) -> str:
    """The end of a cell: equal cells are one object, so each is written once."""
    if id(cell) not in made:
        figures = f" <small>{cell.passed}/{cell.eligible}</small>" if sum(cell.outcomes.values()) > 1 else ""
        title = ", ".join(f"{number} {word}" for word, number in cell.outcomes.items())
        short = SHORT[Outcome.from_word(cell.outcome)]
        made[id(cell)] = f'" class="o-{cell.outcome}" title="{title}">{short}{figures}</a>'
    return made[id(cell)]
