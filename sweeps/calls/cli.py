"""`conformance blockers`: which ops stand between a run's models and the device."""

from collections.abc import Sequence
from typing import Final

import click

from conformance import settings
from conformance.cli import earlier, screen
from conformance.errors import UsageError
from conformance.plan import MODELS
from conformance.record import RunFolder
from conformance.settings import Settings
from sweeps.calls import documents, report
from sweeps.calls.blockers import Count, OpRow, Way
from sweeps.calls.evidence import Standing
from sweeps.calls.report import Report

_CALLS: Final = 20
"""Calls of one model that are printed."""


@click.command("blockers")
@click.argument("run", required=False)
@click.option("--model", metavar="ID", help="Only what stands between this model and the device.")
@click.option("--mode", metavar="M", help="Only models run so, as eager.  [default: every mode of the run]")
@click.option("--dtype", metavar="D", help="Only models of this dtype.  [default: every dtype of the run]")
@click.option("--replays", metavar="RUN", help="A run of suite model_ops.  [default: the run's own, if it has one]")
@click.option("--limit", type=click.IntRange(0), default=25, show_default=True, help="Rows of a table.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True,
              help="json has every row.")  # fmt: skip
def show_blockers(run: str | None, model: str | None, mode: str | None, dtype: str | None, replays: str | None,
                  limit: int, form: str) -> None:  # fmt: skip
    """Say which ops hold models back, how many each frees, and in which order to work them down.

    RUN is a run id or a run's folder; the newest run with models when none is given.

    Example: conformance blockers --mode eager
    """
    known = settings.load()
    folder = earlier.folder(known, run) if run else newest(known)
    found = report.read(folder, earlier.folder(known, replays) if replays else None)
    ways = [each for each in found.ways if mode in (None, each.mode) and dtype in (None, each.dtype)]
    if not ways:
        planned = ", ".join(f"{each.mode} {each.dtype}" for each in found.ways)
        raise UsageError(
            f"run {found.header.run} has no models in {mode or 'any mode'} {dtype or ''}: it has {planned}"
        )
    if model is not None:
        _show_model(found, model, [each for each in found.standings(model) if each[0] in ways], form)
    elif form == "json":
        screen.say_json(documents.of_report(found, ways))
    else:
        _head(found)
        for way in ways:
            _show_way(way, limit)


def newest(known: Settings) -> RunFolder:
    """The newest run of the home that has models. Raises UsageError when there is none."""
    found = sorted(known.runs.glob(f"*/{MODELS}/attribution.jsonl"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise UsageError(
            f"there is no run with models in {known.runs}: start one with 'conformance run --suite models'"
        )
    return RunFolder(path=found[-1].parents[1])


def _head(found: Report) -> None:
    header = found.header
    if header.simulated:
        screen.say("SIMULATION: the device is the simulated backend on the CPU, not Neuron hardware")
    replays = f"replayed calls: run {found.replays}" if found.replays else "no replayed calls (suite model_ops)"
    screen.say(screen.safe(f"run {header.run}, target {header.target}, release {header.release}; {replays}"))


def _show_way(way: Way, limit: int) -> None:
    screen.say()
    screen.say(
        f"{way.mode} {way.dtype}: {way.catalogue:,} models, {way.planned.models:,} of them planned in this way, "
        f"{way.not_planned.models:,} not, {way.refused:,} without signature"
    )
    rows = [
        ("right on the device", way.right), ("held back by ops", way.held),
        ("of them by known ops alone", way.closed), ("went wrong, no op named", way.unnamed),
        ("skipped, unproven …", way.other),
    ]  # fmt: skip
    screen.say_table(("of those planned", *_HEADS), [(name, *_cells(each)) for name, each in rows])
    _show_steps(way, limit)
    _show_ops(way, limit)


_HEADS: Final = ("models", "signatures", "downloads")


def _cells(count: Count) -> tuple[int, int, int]:
    return count.models, count.signatures, count.downloads


def _show_steps(way: Way, limit: int) -> None:
    if not way.steps:
        return
    screen.say()
    screen.say("what to do first: each step frees what waits for it and the steps before alone")
    rows = [
        (number, ", ".join(each.ops), *_cells(each.frees), f"{each.freed.models:,} of {way.closed.models:,}")
        for number, each in enumerate(way.steps[:limit], 1)
    ]  # fmt: skip
    screen.say_table(("step", "ops", *_HEADS, "models freed"), rows)
    _left_out(len(way.steps), limit, "steps")


def _show_ops(way: Way, limit: int) -> None:
    if not way.ops:
        return
    screen.say()
    screen.say("each op: what it holds back with others, and what it holds back alone")
    rows = [
        (each.op, *_cells(each.together), *_cells(each.alone), _shown_by(each)) for each in way.ops[:limit]
    ]  # fmt: skip
    screen.say_table(("op", *_HEADS, *(f"alone: {each}" for each in _HEADS), "shown by (signatures)"), rows)
    _left_out(len(way.ops), limit, "ops")


def _shown_by(row: OpRow) -> str:
    return ", ".join(f"{how} {number}" for how, number in sorted(row.hows.items()))


def _left_out(number: int, limit: int, what: str) -> None:
    if number > limit:
        screen.remark(f"{number - limit:,} further {what} are not shown: --limit {number}, or --format json")


def _show_model(found: Report, model: str, standings: Sequence[tuple[Way, Standing]], form: str) -> None:
    document = documents.of_model(found, model, standings)
    if form == "json":
        screen.say_json(document)
        return
    _head(found)
    for each in document["ways"]:
        screen.say()
        rule = f" ({each['rule']})" if each["rule"] else ""
        screen.say(screen.safe(f"{model}, {each['mode']} {each['dtype']}: {each['outcome']}{rule}"))
        if each["message"]:
            screen.say(screen.paragraph(each["message"]))
        _show_reasons(each)


def _show_reasons(each: "dict[str, object]") -> None:
    ops, calls = each["ops"], each["calls"]
    assert isinstance(ops, dict)
    assert isinstance(calls, list)
    if not ops:
        screen.say("nothing names an op")
        return
    whole = (
        "these and nothing else, as far as was seen" if each["complete"] else "these at least: the rest was not asked"
    )
    screen.say(f"ops in the way, {whole}")
    screen.say_table(("op", "shown by"), [(op, ", ".join(hows)) for op, hows in ops.items()])
    rows = [(call["digest"], call["times"], call["replayed"] or "-", call["call"]) for call in calls[:_CALLS]]
    screen.say_table(("call", "times", "replayed", "arguments"), rows)
    _left_out(len(calls), _CALLS, "calls")
    if isinstance(full := each["full_width"], dict):
        screen.say(f"at full width{': ' + screen.safe(full['why']) if full['why'] else ''}")
        screen.say_table(("times", "arguments"), [(call["times"], call["call"]) for call in full["calls"][:_CALLS]])
