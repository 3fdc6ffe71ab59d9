"""`conformance diff`: two runs side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from conformance import store
from conformance.cli import documents, screen
from conformance.errors import ExitCode, UsageError
from conformance.expectations import today
from conformance.gate.answer import waiver_of
from conformance.gate.waivers import Used, load
from conformance.gate.waiving import waive, waived_by
from conformance.outcomes import Outcome
from conformance.pairs import BLOCKING, PairClass
from conformance.store import Cause, Comparison, DiffRow, Store

_CSV: Final = (
    "id", "simulated", "class", "renamed_from", "a", "b", "a_rule", "b_rule", "a_cause", "b_cause",
    "a_flaky", "b_flaky", "a_fallback_ops", "b_fallback_ops", "b_message",
)  # fmt: skip


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--exit-code", is_flag=True, help="Exit 1 when a test is of a class that blocks a release.")
@click.option("--classes", "words", default="", metavar="WORDS", help="List only these, as regressed,fell_back.")
@click.option(
    "--tests-of",
    "cause",
    default="",
    metavar="CAUSE",
    help="Print the tests that this cause blocks, an identity a line, and nothing else.",
)
@click.option(
    "--waivers", multiple=True, metavar="FILE", help="TOML file of waivers: what blocks is counted with them too."
)
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="Tests listed in a table.")
@click.option("--format", "form", type=click.Choice(["table", "json", "ndjson", "csv"]), default="table",
              show_default=True, help="ndjson and csv print every test that is not the same.")  # fmt: skip
def diff(a: str, b: str, exit_code: bool, words: str, cause: str, waivers: tuple[str, ...], limit: int,
         form: str) -> int:  # fmt: skip
    """Compare run A with the later run B: run ids, or names of releases.

    Example: conformance diff sim-1.0 sim-1.1 --exit-code
    """
    pairs, written = _pairs(words), load(map(Path, waivers))
    with store.open_store() as opened:
        before, after = (store.standing(opened, each) for each in (a, b))
        for each in (*before.remarks, *after.remarks):
            screen.remark(screen.safe(each))
        compared = store.compare(opened, before, after)
        if cause:
            return _replay_list(opened, compared, cause)
        _remark_expectations(compared)
        used = waive(opened, compared, written, store.blocking_mask(compared), today())
        _print(opened, compared, used, pairs, limit, form)
    return _verdict(compared, used, exit_code)


def _replay_list(opened: Store, compared: Comparison, name: str) -> int:
    found = store.cause_named(store.causes(opened, compared, store.blocking_mask(compared)), name)
    hidden = 0
    for key in store.keys_of(opened, found.numbers):
        shown = screen.safe(key)
        hidden += shown != key
        screen.say(shown)
    if hidden:
        screen.remark(
            f"{hidden:,} of these names have control characters, shown as escapes: no run finds them by this list"
        )
    return screen.finish(ExitCode.FINE, f"{found.tests:,} tests of cause {found.name}")


def _remark_expectations(compared: Comparison) -> None:
    """Say when the runs were told different expectation files, or one of them alone probed what entries skip."""
    told = [each.fingerprint.get("expectation files", "") for each in (compared.a, compared.b)]
    if told[0] == told[1]:
        return
    facts = [
        f"{name}: {run.environment.get('expectations.files') or 'the shipped ones'}"
        + (", probed" if run.environment.get("expectations.probe") == "yes" else "")
        for name, run in (("A", compared.a), ("B", compared.b))
    ]
    screen.remark(screen.safe(f"the two runs were told different expectations; {'; '.join(facts)}"))


def _pairs(words: str) -> tuple[PairClass, ...]:
    known = {each.word: each for each in PairClass}
    asked = [each.strip() for each in words.split(",") if each.strip()]
    for each in asked:
        if each not in known:
            raise UsageError(f"unknown class {each!r}: choose from {', '.join(known)}")
    return tuple(known[each] for each in asked)


def _print(
    opened: Store, compared: Comparison, used: Sequence[Used], pairs: Sequence[PairClass], limit: int, form: str
) -> None:
    simulated = compared.a.simulated
    moved = pairs or tuple(each for each in PairClass if each is not PairClass.SAME)
    if form == "json":
        made = documents.comparison_of(compared, store.named_groups(opened, compared), _causes(opened, compared))
        waived = len(waived_by(used))
        counts = {"waived": waived, "effective": compared.blocking - waived}
        screen.say_json({**made, **counts, "waivers": [waiver_of(each) for each in used]})
    elif form == "ndjson":
        rows = store.every_change(opened, compared, moved)
        screen.say_lines(documents.diff_row_of(each, simulated=simulated) for each in rows)
    elif form == "csv":
        screen.say_csv(_CSV, (_csv_cells(each, simulated) for each in store.every_change(opened, compared, moved)))
    else:
        _overview(opened, compared, used)
        _listing(opened, compared, pairs or _shown_first(compared), limit)


def _shown_first(compared: Comparison) -> tuple[PairClass, ...]:
    """What blocks, when something does; else everything that moved."""
    present = [each for each in compared.counts if each is not PairClass.SAME]
    return tuple(each for each in present if each in BLOCKING) or tuple(present)


def _word(outcome: Outcome | None) -> str:
    return "not planned" if outcome is None else outcome.word


def _csv_cells(row: DiffRow, simulated: bool) -> tuple[object, ...]:
    return (
        row.key, int(simulated), row.pair.word, row.renamed_from, _word(row.a.outcome), _word(row.b.outcome),
        row.a.rule, row.b.rule, row.a.cause, row.b.cause, int(row.a.flaky), int(row.b.flaky),
        " ".join(row.a.fallback_ops),
        " ".join(row.b.fallback_ops), row.b.message,
    )  # fmt: skip


def _overview(opened: Store, compared: Comparison, used: Sequence[Used]) -> None:
    for name, runs in zip("AB", compared.runs, strict=True):
        label = ", simulated" if runs[0].simulated else ""
        uids = ", ".join(each.uid for each in runs)
        named = f"{runs[0].release} on {runs[0].target}{label}, run{'s' if len(runs) > 1 else ''} {uids}"
        screen.say(f"{name}: {screen.safe(named)}")
    total = sum(compared.counts.values())
    screen.say(f"{total:,} tests in either plan, {compared.comparable:,} comparable, {_blocking(compared, used)}")
    screen.say()
    rows = [
        (pair.word, number, screen.percent(number, total), "blocks" if pair in BLOCKING else "")
        for pair, number in compared.counts.items()
    ]
    screen.say_table(("class", "tests", "of all", ""), rows)
    screen.say()
    if found := _causes(opened, compared):
        screen.say(f"{len(found):,} causes, {compared.blocking:,} tests")
        screen.say_table(("cause", "tests", "classes", "reason", "first test"), [_cause_cells(each) for each in found])
        screen.say()
    groups = [
        (each.group.pair.word, each.group.count, screen.safe(each.reason, 100), each.example)
        for each in store.named_groups(opened, compared)
        if each.group.pair not in BLOCKING
    ]
    screen.say_table(("class", "tests", "reason", "first test"), groups)


def _causes(opened: Store, compared: Comparison) -> list[Cause]:
    """The causes of what blocks."""
    return store.causes(opened, compared, store.blocking_mask(compared))


def _cause_cells(each: Cause) -> tuple[object, ...]:
    classes = ", ".join(f"{pair.word} {number:,}" for pair, number in each.classes.items())
    return (each.name, each.tests, classes, screen.safe(each.signature, 100), each.example)


def _listing(opened: Store, compared: Comparison, pairs: Sequence[PairClass], limit: int) -> None:
    if not limit or not pairs:
        return
    page = store.diff_rows(opened, compared, pairs, limit=limit)
    screen.say()
    screen.say_table(("class", "test", "A", "B", "reason"), [_cells(each) for each in page.rows])
    if page.after is not None:
        screen.remark(f"{len(page.rows):,} of {page.total:,} tests: --limit or --format ndjson shows more")


def _cells(row: DiffRow) -> tuple[object, ...]:
    words = [_word(each.outcome) + (" (flaky)" if each.flaky else "") for each in (row.a, row.b)]
    reason = row.b.message or row.b.cause or ", ".join(row.b.fallback_ops) or row.b.rule or row.a.message
    name = row.key + (f" (was {row.renamed_from})" if row.renamed_from else "")
    return (row.pair.word, name, *words, screen.safe(reason, 100))


def _blocking(compared: Comparison, used: Sequence[Used]) -> str:
    """What blocks, and what is left of it where there are waivers."""
    if not used:
        return f"{compared.blocking:,} block a release"
    waived = len(waived_by(used))
    return f"{compared.blocking - waived:,} block a release (base {compared.blocking:,}, waived {waived:,})"


def _verdict(compared: Comparison, used: Sequence[Used], exit_code: bool) -> int:
    for each in used:
        if each.state != "waives":
            screen.remark(
                screen.safe(
                    f"waiver {each.waiver.id!r} is {each.state}, {len(each.tests):,} tests: {each.waiver.where}"
                )
            )
    for run in compared.unsealed:
        left = run.counts.get(Outcome.NOT_RUN, 0)
        sentence = f"run {run.uid} is not sealed, {left:,} of its tests have not run: finish it with --resume"
        return screen.finish(ExitCode.INCOMPLETE, f"{sentence}; {compared.blocking:,} tests block so far")
    if not compared.comparable:
        return screen.finish(ExitCode.INCOMPLETE, "no test is comparable: the two runs planned different tests")
    effective = compared.blocking - len(waived_by(used))
    if exit_code and effective:
        return screen.finish(ExitCode.REGRESSION, f"{effective:,} tests block a release")
    return screen.finish(ExitCode.FINE, f"{compared.comparable:,} tests compared, {_blocking(compared, used)}")
