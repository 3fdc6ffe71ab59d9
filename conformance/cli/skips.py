"""`conformance skips`: why the tests of a run were skipped, and a rule to paste for what no rule explains."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from conformance import settings, store
from conformance.cli import screen
from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.provenance import listing
from conformance.provenance.listing import Seen, Text
from conformance.record import RunFolder, read_results
from conformance.store import Filter


@click.command()
@click.argument("run")
@click.option("--unclassified", is_flag=True, help="Only skips that no rule explains, each with a rule to paste.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Texts listed in a table.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def skips(run: str, unclassified: bool, limit: int, form: str) -> None:
    """List why tests were skipped: a run id, a release's name, or the folder of a run.

    Example: conformance skips sim-1.1 --unclassified
    """
    found = listing.texts(_seen(run))
    if unclassified:
        found = [each for each in found if each.outcome is Outcome.SKIP_UNCLASSIFIED]
    if form == "json":
        screen.say_json({"skipped": sum(each.count for each in found), "texts": [_document(each) for each in found]})
        return
    screen.say_table(
        ("tests", "outcome", "rule", "who", "text", "an example"), (_cells(each) for each in found[:limit])
    )
    if unclassified:
        _say_rules(found[:limit])
    screen.remark(
        f"{min(limit, len(found)):,} of {len(found):,} texts, {sum(each.count for each in found):,} skipped tests"
        + (": --limit shows more" if len(found) > limit else "")
    )


def _seen(run: str) -> Iterator[Seen]:
    """From a folder where one is named; else from the store, and from the folder of a run that is not stored."""
    if (Path(run) / "run.json").is_file():
        return _in_folder(RunFolder(path=Path(run)))
    try:
        return iter(list(_in_store(run)))
    except UsageError:
        folder = settings.load().runs / run
        if not (folder / "run.json").is_file():
            raise
        return _in_folder(RunFolder(path=folder))


def _in_folder(folder: RunFolder) -> Iterator[Seen]:
    for each in read_results(folder):
        shown = each.shown
        yield Seen(key=each.test.key, outcome=each.outcome, rule=shown.rule, text=shown.message, source=shown.source)


def _in_store(run: str) -> Iterator[Seen]:
    with store.open_store() as opened:
        found = store.resolve(opened, run)
        if found.remark:
            screen.remark(found.remark)
        for row in store.every_outcome(opened, found.run, Filter(outcomes=listing.SKIPS)):
            yield Seen(key=row.key, outcome=row.outcome, rule=row.rule, text=row.message, source=row.source)


def _cells(each: Text) -> tuple[object, ...]:
    now = f" (now {each.now[0].word}, {each.now[1]})" if each.now else ""
    return (
        each.count, each.outcome.word, each.rule + now, each.origin, screen.safe(each.text, 100),
        screen.safe(each.example, 100),
    )  # fmt: skip


def _document(each: Text) -> dict[str, Any]:
    return {
        "tests": each.count, "outcome": each.outcome.word, "rule": each.rule, "who": each.origin, "code": each.code,
        "turned": each.turned, "text": each.text, "example": each.example, "stanza": listing.stanza(each),
        "now": {"outcome": each.now[0].word, "rule": each.now[1]} if each.now else None,
    }  # fmt: skip


def _say_rules(found: list[Text]) -> None:
    for each in found:
        if text := listing.stanza(each):
            screen.say()
            screen.say(screen.paragraph(text))
    if found:
        screen.remark("give these rules an outcome and a why, in a file that CONFORMANCE_RULES names")
