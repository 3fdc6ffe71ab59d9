"""A run's folder into the store: one transaction, the same result however often and by however many at once."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance import attribution
from conformance.errors import StoreError, UsageError
from conformance.outcomes import Outcome
from conformance.record import RunFolder
from conformance.store import columns, inventories, models, rows
from conformance.store.columns import Columns, Files, storable
from conformance.store.numbers import number_tests
from conformance.store.phrases import Cursor
from conformance.store.runs import find_run
from conformance.store.store import Store
from conformance.store.vectors import PHRASES

_LOCK: Final = 7_201_954_002
"""Key of the advisory lock that lets one ingest at a time write: numbers stay dense, and nobody can deadlock."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ingested:
    """What an ingest came to. `unchanged`: the store had exactly this already. `seconds`: reading and storing."""

    run: str
    planned: int
    counts: dict[Outcome, int]
    flaky: int
    sealed: bool
    unchanged: bool
    seconds: float


def ingest(store: Store, folder: Path) -> Ingested:
    """Store a run. A killed ingest leaves nothing; a second one of the same folder changes nothing.

    A run that goes on may be ingested again: its later state replaces the earlier. Raises UsageError when the folder
    is not a run's, StoreError when the database refuses.
    """
    began = time.perf_counter()
    files = columns.load(RunFolder(path=folder))
    with store.raw() as cursor:
        unchanged = _stored(cursor, files)
    if not unchanged:
        with _no_collection():
            unchanged = _write(store, columns.read(files), files)
    run = find_run(store, storable(files.header.run))
    if run is None:
        raise StoreError(f"run {files.header.run!r} was deleted while it was stored: store it again")
    return Ingested(
        run=run.uid, planned=run.planned, counts=dict(run.counts), flaky=run.flaky, sealed=run.sealed,
        unchanged=unchanged, seconds=time.perf_counter() - began,
    )  # fmt: skip


@contextmanager
def _no_collection() -> Iterator[None]:
    """Half a million records without a cycle: looking for some took a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _write(store: Store, read: Columns, files: Files) -> bool:
    """Write everything in one transaction; True when another process has stored the same meanwhile."""
    taken, modelled = inventories.reaching(read, files), attribution.read(files.folder.path)
    with store.raw() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '10min'")
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if _stored(cursor, files):
            return True
        places = number_tests(cursor, read)
        texts = {name: read.texts(name) for name in PHRASES}
        numbers = rows.number_phrases(cursor, texts, read.kept)
        run = rows.replace_run(cursor, read, files.folder.path)
        rows.write_vectors(cursor, run, read, rows.coded(texts, numbers), places)
        rows.write_attempts(cursor, run, read.kept, numbers, places)
        inventories.write(cursor, run, read.digest, taken)
        models.write(cursor, run, read, modelled, places)
    return False


def _stored(cursor: Cursor, files: Files) -> bool:
    """Whether the store has exactly this. Raises UsageError when the run's id names another run."""
    header = files.header
    row = cursor.execute("SELECT digest, target, release FROM run WHERE uid = %s", (storable(header.run),)).fetchone()
    if row is None:
        return False
    if row[1:] != (storable(header.target), storable(header.release)):
        raise UsageError(f"run {header.run!r} is stored already, for {row[1]} {row[2]}: ids name one run for ever")
    return bool(row[0] == files.digest)
