"""What `conformance run` and `repro` print: data on stdout, remarks on stderr."""

import sys
from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance import reuse, summary
from conformance.cli import order, stale
from conformance.errors import ConformanceError, StoreError
from conformance.outcomes import Outcome
from conformance.plan import PlannedTest
from conformance.record import RunFolder
from conformance.summary import Summary
from conformance.supervision.running import Request

SIMULATION = "SIMULATION: these are outcomes of the simulated backend on the CPU, not of Neuron hardware"


def remark(line: str) -> None:
    """Tell the user something that is not data."""
    click.echo(line, err=True)


def show(done: Summary, form: str) -> None:
    """Print a run in the form asked for."""
    if form == "json":
        click.echo(summary.json(done.document() | stale.document(done)))
    elif form == "ndjson":
        for each in done.results:
            click.echo(summary.json(summary.line_of(each, simulated=done.header.simulated)))
    else:
        _show_table(done)


def _show_table(done: Summary) -> None:
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 200)
    if done.header.simulated:
        console.print(Text(SIMULATION, style="bold"))
    console.print(table(summary.by_kind(done.results), f"run {done.header.run} on {done.header.target}"))
    for line in (*figures(done), *order.lines(done), *stale.lines(done)):
        console.print(Text(line), soft_wrap=True)


def table(rows: dict[str, Counter[Outcome]], title: str) -> Table:
    """Kinds by outcomes, with totals."""
    whole: Counter[Outcome] = sum(rows.values(), Counter())
    columns = [each for each in Outcome if whole[each]]
    drawn = Table(title=Text(title), title_justify="left")
    # Folded, not cut: a number that ends in dots would be no number.
    drawn.add_column("kind", overflow="fold")
    for each in columns:
        drawn.add_column(each.word.replace("_", " "), justify="right", overflow="fold")
    drawn.add_column("total", justify="right", overflow="fold")
    for name, counts in rows.items():
        drawn.add_row(*_cells(name, counts, columns))
    drawn.add_section()
    drawn.add_row(*_cells("total", whole, columns))
    return drawn


def _cells(name: str, counts: Counter[Outcome], columns: Sequence[Outcome]) -> list[Text]:
    numbers = [str(counts[each] or "·") for each in columns]
    return [Text(each) for each in (name, *numbers, str(counts.total()))]


def figures(done: Summary) -> list[str]:
    """The two figures that are always shown together, times, and where to look further."""
    counts, eligible = done.counts, done.eligible
    passed, right = counts[Outcome.PASS], counts[Outcome.PASS] + counts[Outcome.FALLBACK]
    spent = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in done.seconds.items())
    return [
        f"planned {len(done.results)}, eligible {eligible}",
        *_origins(done),
        f"pass / eligible: {_share(passed, eligible)}",
        f"(pass + fallback) / eligible: {_share(right, eligible)}",
        f"time in tests: {spent or 'none'}",
        f"run {done.header.run}: see it with `conformance show {done.header.run}`, or in the dashboard: "
        f"`conformance serve`, then http://127.0.0.1:8000/runs/{quote(done.header.run, safe='')}",
    ]


def _origins(done: Summary) -> list[str]:
    """Where outcomes are from, of a run that was asked to take some over."""
    if reuse.OPTION not in done.header.environment:
        return []
    runs = ", ".join(f"{number} from run {run}" for run, number in done.reused.most_common())
    told = ", ".join(f"{word} {number}" for word, number in done.origins.items())
    return [told + (f"; {runs}" if runs else "")]


def _share(part: int, whole: int) -> str:
    return f"{part} / {whole}" + (f" = {100 * part / whole:.1f} %" if whole else "")


def show_plan(tests: Sequence[PlannedTest], request: Request, form: str) -> None:
    """Print a plan: tests that would run and tests decided by a rule, by kind."""
    if form == "ndjson":
        for test in tests:
            rule = {"decided": test.decided.outcome.word, "rule": test.decided.rule} if test.decided else {}
            rule = {"probed": test.probed.rule} if test.probed else rule
            click.echo(summary.json({"id": test.key, **rule}))
        return
    if form == "json":
        click.echo(summary.json(_plan_document(tests, request)))
        return
    rows = summary.grouped((test, test.decided.outcome if test.decided else Outcome.NOT_RUN) for test in tests)
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 200)
    title = f"plan for {request.target.name} {request.release}; `not run` are the tests that a run would start"
    console.print(table(rows, title))


def _plan_document(tests: Sequence[PlannedTest], request: Request) -> dict[str, object]:
    decided = Counter(test.decided.outcome.word for test in tests if test.decided)
    return {
        "target": request.target.name,
        "release": request.release,
        "simulated": request.target.simulated,
        "planned": len(tests),
        "to_run": len(tests) - decided.total(),
        "decided": dict(decided),
    }


def require_address(database_url: str) -> None:
    """Refuse an address that cannot be one before hours of work are done. Raises UsageError."""
    if database_url:
        # Imported late: SQLAlchemy is not needed without it.
        from conformance.store import connect

        connect.parse(database_url)


def store(folder: RunFolder, *, wanted: bool) -> None:
    """Put a run into the store. Raises StoreError, which says how to do it later; the folder is kept."""
    if not wanted:
        remark(f"not stored; do it with: conformance ingest {folder.path}")
        return
    # Imported late: SQLAlchemy is not needed while tests run.
    from conformance.store import ingest, open_store

    try:
        with open_store() as opened:
            done = ingest(opened, folder.path)
    except ConformanceError as error:
        raise StoreError(f"{error}; the run is kept: store it with conformance ingest {folder.path}") from error
    remark(f"stored in {done.seconds:.1f} s")


def store_if_possible(folder: RunFolder, *, wanted: bool) -> None:
    """Put a run that did not come to its end into the store; a refusal is a remark, the run's own error counts."""
    try:
        store(folder, wanted=wanted)
    except StoreError as error:
        remark(str(error))
