"""`conformance ingest`: folders of runs into the store."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from conformance import recorded, store
from conformance.cli import documents, screen
from conformance.errors import UsageError
from conformance.store import Ingested, Store


@click.command()
@click.argument("folders", nargs=-1, metavar="DIR…", type=click.Path(path_type=Path))
@click.option("--example", is_flag=True, help="Store the two recorded example runs that come with the program.")
@click.option("--format", "form", type=click.Choice(["table", "ndjson"]), default="table", show_default=True)
def ingest(folders: tuple[Path, ...], example: bool, form: str) -> None:
    """Store folders of runs; storing one twice changes nothing.

    Example: conformance ingest ~/.local/share/neuron-conformance/runs/*
    """
    if not folders and not example:
        raise UsageError("nothing to store: name a run's folder, or give --example")
    with _example(example) as recorded_folders, store.open_store() as opened:
        given = (*folders, *recorded_folders)
        refused = [error for each in given if (error := _refusal(opened, each, form))]
    if len(given) == 1 and refused:
        raise refused[0]
    for error in refused:
        screen.remark(screen.safe(str(error)))
    if refused:
        raise UsageError(f"{len(refused)} of {len(given)} folders were not stored: they are named above")


def _refusal(opened: Store, folder: Path, form: str) -> UsageError | None:
    """Store one folder; what is wrong with it is given back, so that it does not keep the others out."""
    try:
        _say(store.ingest(opened, folder), form)
    except UsageError as error:
        return error
    return None


@contextmanager
def _example(wanted: bool) -> Iterator[tuple[Path, ...]]:
    if not wanted:
        yield ()
        return
    with tempfile.TemporaryDirectory(prefix="conformance-example-") as folder:
        yield recorded.write(Path(folder))


def _say(done: Ingested, form: str) -> None:
    if form == "ndjson":
        screen.say_lines([_document(done)])
        return
    state = "sealed" if done.sealed else "incomplete"
    note = "unchanged" if done.unchanged else f"stored in {done.seconds:.2f} s"
    counts = ", ".join(f"{number:,} {word}" for word, number in documents.outcomes(done.counts).items())
    screen.say(f"run {screen.safe(done.run)}: {done.planned:,} planned, {state}, {note}: {counts}")


def _document(done: Ingested) -> dict[str, object]:
    return {
        "run": done.run, "planned": done.planned, "outcomes": documents.outcomes(done.counts), "flaky": done.flaky,
        "sealed": done.sealed, "unchanged": done.unchanged, "seconds": round(done.seconds, 3),
    }  # fmt: skip
