"""`conformance export`: a run, or what changed between two, in the forms that other tools read."""

import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

import click

from conformance import store
from conformance.cli import screen
from conformance.errors import ExitCode, UsageError
from conformance.exports import badge, junit, markdown, sarif
from conformance.outcomes import Outcome
from conformance.pairs import BLOCKING
from conformance.replacing import replacing
from conformance.store import Filter, Kind, OutcomeRow, RunRow, Store

_OF_RUNS: Final = ("junit", "markdown", "badge")
_OF_COMPARISONS: Final = ("markdown", "sarif")


@click.command()
@click.argument("what", metavar="RUN|A..B")
@click.option("--as", "form", required=True, type=click.Choice(["junit", "markdown", "badge", "sarif"]),
              help="junit and badge take a run, sarif a comparison, markdown either.")  # fmt: skip
@click.option("--out", metavar="FILE", help="Write there, whole or not at all.  [default: stdout]")
@click.option("--max-bytes", type=click.IntRange(2_000), default=markdown.LARGEST, show_default=True,
              help="Size of a Markdown summary; what does not fit is counted.")  # fmt: skip
def export(what: str, form: str, out: str | None, max_bytes: int) -> int:
    """Export a run (a run id or a release's name), or the comparison of A with the later B.

    \b
    Examples: conformance export sim-1.1 --as junit --out results.xml
              conformance export sim-1.0..sim-1.1 --as markdown >> $GITHUB_STEP_SUMMARY
    """
    a, dots, b = what.partition("..")
    _require(what, form, bool(dots))
    with store.open_store() as opened, _output(out) as stream:
        if dots:
            _comparison(opened, stream, a, b, form, max_bytes)
        else:
            _run(opened, stream, what, form, max_bytes)
    return screen.finish(ExitCode.FINE, f"{form} of {screen.safe(what, 120)} written" + (f" to {out}" if out else ""))


def _require(what: str, form: str, compares: bool) -> None:
    if form not in (_OF_COMPARISONS if compares else _OF_RUNS):
        wanted = "two, as sim-1.0..sim-1.1" if form in _OF_COMPARISONS else "one run, not two"
        raise UsageError(f"{screen.safe(what, 120)!r} cannot be exported as {form}: name {wanted}")


def _run(opened: Store, stream: TextIO, name: str, form: str, max_bytes: int) -> None:
    found = store.resolve(opened, name)
    if found.remark:
        screen.remark(found.remark)
    run = found.run
    if form == "badge":
        stream.write(json.dumps(badge.of_run(run)) + "\n")
    elif form == "junit":
        junit.write(stream, run, store.every_outcome(opened, run, Filter()), lambda rows: _details(opened, run, rows))
    else:
        failures = frozenset(each for each in Outcome if junit.tells_failure(each))
        wrong = store.every_outcome(opened, run, Filter(outcomes=failures))
        stream.write(markdown.of_run(run, store.tally(opened, run, Kind.KIND), wrong, max_bytes))


def _comparison(opened: Store, stream: TextIO, a: str, b: str, form: str, max_bytes: int) -> None:
    before, after = (store.standing(opened, each) for each in (a, b))
    for each in (*before.remarks, *after.remarks):
        screen.remark(screen.safe(each))
    compared = store.compare(opened, before, after)
    rows = store.every_change(opened, compared, sorted(BLOCKING))
    if form == "sarif":
        stream.write(json.dumps(sarif.of_comparison(compared, rows)) + "\n")
        return
    causes = store.causes(opened, compared, store.blocking_mask(compared))
    stream.write(markdown.of_comparison(compared, causes, rows, max_bytes))


def _details(opened: Store, run: RunRow, rows: Sequence[OutcomeRow]) -> dict[int, str]:
    return store.details_of(opened, run, [row.number for row in rows])


@contextmanager
def _output(path: str | None) -> Iterator[TextIO]:
    """Where to write: stdout, or a file that stays as it was until all of the new one is there."""
    if path is None:
        yield sys.stdout
        return
    with (
        replacing(Path(path)) as plain,
        io.TextIOWrapper(plain, encoding="utf-8", errors="backslashreplace", newline="\n") as stream,
    ):
        yield stream
