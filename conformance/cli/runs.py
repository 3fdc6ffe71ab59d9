"""`conformance runs`: the stored runs, newest first."""

from collections.abc import Sequence

import click

from conformance import store
from conformance.cli import documents, screen


@click.command()
@click.option("--target", default="", metavar="T", help="Only runs on this target.")
@click.option("--release", default="", metavar="R", help="Only runs of this release.")
@click.option(
    "--limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="How many, newest first."
)
@click.option("--format", "form", type=click.Choice(["table", "json", "ndjson"]), default="table", show_default=True)
def runs(target: str, release: str, limit: int, form: str) -> None:
    """List the stored runs.

    Example: conformance runs --release sim-1.1
    """
    with store.open_store() as opened:
        found = store.list_runs(opened, target=target, release=release, limit=limit)
    if form == "json":
        screen.say_json({"runs": [documents.run_of(each) for each in found]})
    elif form == "ndjson":
        screen.say_lines(documents.run_of(each) for each in found)
    else:
        _table(found, chosen=bool(target or release))


def _table(found: Sequence[store.RunRow], chosen: bool) -> None:
    heads = ("run", "release", "target", "started (UTC)", "planned", "pass of eligible", "state", "selection")
    screen.say_table(heads, [_cells(each) for each in found])
    if not found and chosen:
        screen.remark("no stored run fits: 'conformance runs' lists them all")
    elif not found:
        screen.remark("no run is stored: start with 'conformance run --target sim', or 'conformance ingest --example'")


def _cells(run: store.RunRow) -> tuple[object, ...]:
    target = f"{run.target} (simulated)" if run.simulated else run.target
    chosen = run.profile if run.whole else f"part of {run.profile}"
    state = "sealed" if run.sealed else "incomplete"
    share = screen.percent(run.passed, run.eligible)
    return (run.uid, run.release, target, f"{run.started:%Y-%m-%d %H:%M}", run.planned, share, state, chosen)
