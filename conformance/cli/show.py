"""`conformance show`: one run, its outcomes with numbers and denominators, or its tests."""

from dataclasses import replace
from typing import Final

import click

from conformance import store
from conformance.cli import documents, screen
from conformance.errors import UsageError
from conformance.outcomes import GROUPS, Outcome
from conformance.store import Filter, Kind, OutcomeRow, RunRow, Store

_CSV: Final = (
    "id",
    "simulated",
    "outcome",
    "flaky",
    "rule",
    "ran_on",
    "stage",
    "cause",
    "code",
    "message",
    "fallback_ops",
    "order_dependent",
    "leaked",
    "reused",
)


@click.command()
@click.argument("run")
@click.option("--outcomes", "words", default="", metavar="WORDS", help="List the tests that ended so, as fail,crash.")
@click.option("--op", default="", help="Only tests of this operator.")
@click.option("--dtype", default="", help="Only tests of this dtype.")
@click.option("--kind", default="", help="Only tests of this kind.")
@click.option("--order-dependent", is_flag=True, help="Only tests that end otherwise alone than among others.")
@click.option("--leaks", is_flag=True, help="Only tests that left something changed, and what.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Tests listed in a table.")
@click.option("--format", "form", type=click.Choice(["table", "json", "ndjson", "csv"]), default="table",
              show_default=True, help="ndjson and csv print every test.")  # fmt: skip
def show(run: str, words: str, op: str, dtype: str, kind: str, order_dependent: bool, leaks: bool, limit: int,
         form: str) -> None:  # fmt: skip
    """Show one run: a run id, or a release's name.

    Example: conformance show sim-1.1 --outcomes fail,crash
    """
    chosen = replace(
        _filter(words, {Kind.OP: op, Kind.DTYPE: dtype, Kind.KIND: kind}), order_dependent=order_dependent, leaked=leaks
    )
    with store.open_store() as opened:
        found = store.resolve(opened, run)
        if found.remark:
            screen.remark(found.remark)
        _print(opened, found.run, chosen, limit, form)


def _filter(words: str, parts: dict[Kind, str]) -> Filter:
    try:
        outcomes = frozenset(Outcome.from_word(each.strip()) for each in words.split(",") if each.strip())
    except ValueError as error:
        raise UsageError(str(error)) from None
    return Filter(outcomes=outcomes, parts={part: label for part, label in parts.items() if label})


def _print(opened: Store, run: RunRow, chosen: Filter, limit: int, form: str) -> None:
    if form == "ndjson":
        rows = store.every_outcome(opened, run, chosen)
        screen.say_lines(documents.outcome_of(each, simulated=run.simulated) for each in rows)
    elif form == "csv":
        screen.say_csv(_CSV, (_csv_cells(each, run) for each in store.every_outcome(opened, run, chosen)))
    elif form == "json":
        screen.say_json(_document(opened, run))
    elif chosen == Filter():
        _overview(opened, run)
    else:
        _listing(opened, run, chosen, limit)


def _csv_cells(row: OutcomeRow, run: RunRow) -> tuple[object, ...]:
    return (
        row.key, int(run.simulated), row.outcome.word, int(row.flaky), row.rule, row.ran_on, row.stage,
        row.cause, row.code, row.message,
        " ".join(row.fallback_ops), int(row.order_dependent), "\n".join(row.leaked),
        row.reused,
    )  # fmt: skip


def _document(opened: Store, run: RunRow) -> dict[str, object]:
    return documents.run_of(run) | {
        "kinds": [documents.tally_of(each) for each in store.tally(opened, run, Kind.KIND)],
        "rules": [documents.tally_of(each) for each in store.tally(opened, run, Kind.RULE)],
        "seconds": {phase: round(float(spent.sum()), 3) for phase, spent in store.seconds(opened, run).items()},
        "slowest": [documents.outcome_of(each, simulated=run.simulated) for each in store.slowest(opened, run)],
        "environment": dict(run.environment),
    }


def _overview(opened: Store, run: RunRow) -> None:
    _head(run)
    screen.say()
    _outcome_table(run)
    screen.say()
    _kind_table(opened, run)
    screen.say()
    _time_table(opened, run)
    if run.environment:
        screen.say()
        screen.say_table(("environment", "value"), sorted(run.environment.items()))


def _head(run: RunRow) -> None:
    label = " — simulated, not real hardware" if run.simulated else ""
    screen.say(f"run {screen.safe(run.uid)}: {screen.safe(run.release)} on {screen.safe(run.target)}{label}")
    state = "sealed" if run.sealed else f"incomplete: {run.counts.get(Outcome.NOT_RUN, 0):,} tests have not run"
    screen.say(f"{run.planned:,} tests planned ({screen.safe(run.profile)} profile), {state}")
    if version := run.environment.get("upstream.version"):
        mismatch = run.environment.get("upstream.mismatch")
        screen.say(f"tests of PyTorch {screen.safe(version)}" + (f": {screen.safe(mismatch)}" if mismatch else ""))
    screen.say(f"pass / eligible:              {screen.percent(run.passed, run.eligible)}")
    screen.say(f"(pass + fallback) / eligible: {screen.percent(run.right, run.eligible)}")


def _outcome_table(run: RunRow) -> None:
    rows: list[tuple[object, ...]] = [
        (each.word, run.counts[each], screen.percent(run.counts[each], run.planned), GROUPS.get(each, ""))
        for each in Outcome
        if run.counts.get(each)
    ]
    screen.say_table(("outcome", "tests", "of planned", "group"), rows)
    if run.flaky:
        screen.say(f"flaky: {screen.percent(run.flaky, run.planned)}")


def _kind_table(opened: Store, run: RunRow) -> None:
    present = [each for each in Outcome if run.counts.get(each)]
    rows = [
        (each.label or "(none)", each.planned, *(each.counts.get(outcome, 0) for outcome in present))
        for each in store.tally(opened, run, Kind.KIND)
    ]
    screen.say_table(("kind", "planned", *(each.word for each in present)), rows)


def _time_table(opened: Store, run: RunRow) -> None:
    phases = store.seconds(opened, run)
    screen.say_table(("phase", "seconds"), [(phase, float(spent.sum())) for phase, spent in phases.items()])
    rows = [(float(sum(each.seconds.values())), each.key) for each in store.slowest(opened, run)]
    screen.say_table(("seconds", "slowest tests"), rows)


def _listing(opened: Store, run: RunRow, chosen: Filter, limit: int) -> None:
    page = store.outcome_rows(opened, run, chosen, limit=limit)
    rows = [
        (each.outcome.word + _mark(each), each.key, each.rule, screen.safe(_said(each, chosen), 120))
        for each in page.rows
    ]
    screen.say_table(("outcome", "test", "rule", "message"), rows)
    screen.remark(f"{len(rows):,} of {page.total:,} tests" + (": --limit shows more" if page.after is not None else ""))


def _mark(row: OutcomeRow) -> str:
    if row.order_dependent:
        return " (order-dependent)"
    return " (flaky)" if row.flaky else ""


def _said(row: OutcomeRow, chosen: Filter) -> str:
    return "; ".join(row.leaked) if chosen.leaked else row.message
