"""`conformance explain`: one test, what decided its outcome, and how it went over the runs."""

from dataclasses import asdict
from typing import Any

import click

from conformance import store
from conformance.cli import documents, screen
from conformance.errors import UsageError
from conformance.pairs import PairClass
from conformance.provenance import sides
from conformance.store import AttemptRow, DiffRow, HistoryRow, OutcomeRow, RunRow, Store, TestRow


@click.command()
@click.argument("test")
@click.option("--run", "name", default="", metavar="RUN", help="Run id or release. Default: the newest with this test.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def explain(test: str, name: str, form: str) -> None:
    """Explain one test: its identity, or any part of it that only one test has.

    Example: conformance explain forward_add_float32 --run sim-1.1
    """
    with store.open_store() as opened:
        found = _find(opened, test)
        rows = store.history(opened, found.number)
        run = _run(opened, found, name, rows)
        before = next((each.run for each in rows if each.run.started < run.started), None)
        (row,) = store.rows_of(opened, run, [found.number])
        attempts = list(store.attempts_of(opened, run, found.number))
        pair = _pair(opened, before, run, found)
    if form == "json":
        screen.say_json(_document(found, run, row, attempts, rows, pair))
    else:
        _print(found, run, row, attempts, rows, pair, before)


def _find(opened: Store, text: str) -> TestRow:
    if (exact := store.find_test(opened, text)) is not None:
        return exact
    found = store.search_tests(opened, text, limit=6)
    if not found:
        raise UsageError(f"no stored run planned a test like {screen.safe(text, 200)!r}")
    if len(found) > 1:
        some = ", ".join(screen.safe(each.key, 200) for each in found[:5])
        raise UsageError(f"{screen.safe(text, 200)!r} is part of several tests, as {some}: name one of them")
    return found[0]


def _run(opened: Store, test: TestRow, name: str, rows: list[HistoryRow]) -> RunRow:
    if not name:
        return rows[0].run
    found = store.resolve(opened, name)
    if found.remark:
        screen.remark(found.remark)
    status = store.status(opened, found.run)
    if test.number >= len(status) or not status[test.number]:
        raise UsageError(f"run {found.run.uid} did not plan {screen.safe(test.key, 300)}")
    return found.run


def _pair(opened: Store, before: RunRow | None, run: RunRow, test: TestRow) -> DiffRow | None:
    """The test in the run before beside this one; None when there is none, or the two are never compared."""
    if before is None or before.simulated != run.simulated:
        return None
    compared = store.compare(opened, before, run)
    rows = store.diff_rows(opened, compared, tuple(PairClass), after=test.number - 1, limit=1).rows
    return rows[0] if rows and rows[0].number == test.number else None


def _document(
    test: TestRow,
    run: RunRow,
    row: OutcomeRow,
    attempts: list[AttemptRow],
    rows: list[HistoryRow],
    pair: DiffRow | None,
) -> dict[str, Any]:
    return documents.outcome_of(row, simulated=run.simulated) | {
        "suite": test.id.suite, "file": test.id.file, "class": test.id.cls, "name": test.id.name, "run": run.uid,
        "release": run.release, "target": run.target, **_sides(row, run),
        "attempts": [{**asdict(each), "outcome": each.outcome.word} for each in attempts],
        "since_the_run_before": documents.diff_row_of(pair, simulated=run.simulated) if pair else None,
        "history": [
            {"run": each.run.uid, "release": each.run.release, "started": each.run.started.isoformat(),
             "outcome": each.outcome.word, "flaky": each.flaky, "rule": each.rule, "cause": each.cause}
            for each in rows
        ],
    }  # fmt: skip


def _print(
    test: TestRow,
    run: RunRow,
    row: OutcomeRow,
    attempts: list[AttemptRow],
    rows: list[HistoryRow],
    pair: DiffRow | None,
    before: RunRow | None,
) -> None:
    screen.say(screen.safe(test.key))
    _facts(run, row)
    if pair is not None and before is not None:
        screen.say(f"since run {screen.safe(before.uid)} ({screen.safe(before.release)}): {pair.pair.word}")
        if pair.a.outcome is not None:
            screen.say(f"  before: {pair.a.outcome.word}, {screen.safe(pair.a.rule or pair.a.cause or 'no rule', 200)}")
    for each in attempts:
        screen.say()
        alone = ", alone" if each.alone else ""
        where = f"in stage {screen.safe(each.stage)}, ran on {each.ran_on}"
        screen.say(f"attempt {each.number}{alone}: {each.outcome.word} {where}")
        screen.say(screen.paragraph(each.detail or each.message))
    screen.say()
    heads = ("started (UTC)", "run", "release", "outcome", "rule or cause", "test changed")
    screen.say_table(heads, _history_cells(rows))


def _sides(row: OutcomeRow, run: RunRow) -> dict[str, Any]:
    """Both sides: who in PyTorch decided, and by which rule or entry of ours."""
    theirs, ours = sides.theirs(row.source), sides.ours(row.rule, run.target)
    return {"theirs": asdict(theirs) if theirs else None, "ours": asdict(ours) if ours else None}


def _side_facts(row: OutcomeRow, run: RunRow) -> list[tuple[str, str]]:
    theirs, ours = sides.theirs(row.source), sides.ours(row.rule, run.target)
    facts = [("our rule", f"{ours.rule}: {ours.why}" if ours.why else ours.rule)] if ours else []
    if ours and ours.file:
        rest = [f"owner {ours.owner}"] if ours.owner else []
        rest += [f"until {ours.expires}"] if ours.expires else []
        facts += [("entry", f"{ours.reason} ({', '.join([ours.file, *rest])})"), ("see", ours.link)]
    if theirs:
        facts += [
            ("PyTorch", theirs.who), ("by", theirs.code), ("at", theirs.where), ("instead of", theirs.turned)
        ]  # fmt: skip
    return facts


def _facts(run: RunRow, row: OutcomeRow) -> None:
    label = " (simulated)" if run.simulated else ""
    facts = [
        ("in run", f"{run.uid}, {run.release} on {run.target}{label}"),
        ("outcome", row.outcome.word + (" (flaky: attempts disagreed)" if row.flaky else "")),
        ("order", "order-dependent: it ends otherwise alone than among others" if row.order_dependent else ""),
        *_side_facts(row, run), ("reason", row.message), ("cause", row.cause), ("compiler code", row.code),
        ("ran on", row.ran_on), ("stage", row.stage), ("fell back", ", ".join(row.fallback_ops)),
        ("left changed", "; ".join(row.leaked)),
        ("op", row.id.op), ("variant", row.id.variant), ("dtype", row.id.dtype), ("kind", row.id.kind),
        ("seconds", ", ".join(f"{phase} {spent:.3g}" for phase, spent in row.seconds.items())),
    ]  # fmt: skip
    for name, value in facts:
        if value:
            screen.say(f"  {name + ':':<15}{screen.safe(value)}")


def _history_cells(rows: list[HistoryRow]) -> list[tuple[object, ...]]:
    older = [*rows[1:], None]
    return [
        (f"{each.run.started:%Y-%m-%d %H:%M}", each.run.uid, each.run.release,
         each.outcome.word + (" (flaky)" if each.flaky else ""), screen.safe(each.rule or each.cause, 80),
         "changed" if last is not None and last.definition != each.definition else "")
        for each, last in zip(rows, older, strict=True)
    ]  # fmt: skip
