"""A run's folder into the store: one transaction, the same result however often and by however many at once."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.record import RunFolder
from conformance.store import columns, phrases, rows
from conformance.store.columns import Columns, storable
from conformance.store.numbers import number_tests
from conformance.store.phrases import Cursor, Kind
from conformance.store.store import Store
from conformance.store.vectors import PHRASES, counts, flaky

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
    with _no_collection():
        read = columns.read(RunFolder(path=folder))
        unchanged = _write(store, read, folder)
    counted = counts(read.status)
    return Ingested(
        run=read.header.run, planned=len(read.tests), counts=counted, flaky=flaky(read.status),
        sealed=Outcome.NOT_RUN not in counted, unchanged=unchanged, seconds=time.perf_counter() - began,
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


def _write(store: Store, read: Columns, folder: Path) -> bool:
    """Write everything in one transaction; True when the store had it already."""
    with store.raw() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '10min'")
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if _stored(cursor, read):
            return True
        places = number_tests(cursor, read)
        numbers = phrases.intern(cursor, _phrases(read))
        run = rows.replace_run(cursor, read, folder)
        rows.write_vectors(cursor, run, read, numbers, places)
        rows.write_attempts(cursor, run, read, numbers, places)
    return False


def _stored(cursor: Cursor, read: Columns) -> bool:
    row = cursor.execute(
        "SELECT digest, target, release FROM run WHERE uid = %s", (storable(read.header.run),)
    ).fetchone()
    if row is None:
        return False
    if row[1:] != (read.header.target, read.header.release):
        raise UsageError(f"run {read.header.run!r} is stored already, for {row[1]} {row[2]}: ids name one run for ever")
    return bool(row[0] == read.digest)


def _phrases(read: Columns) -> set[tuple[Kind, str]]:
    wanted: set[tuple[Kind, str]] = set()
    for name in PHRASES:
        wanted |= {(Kind[name.upper()], storable(each)) for each in set(read.texts(name))}
    for row in read.kept:
        texts = (row.end.r, row.end.c, row.end.k, row.end.m, columns.fallback_phrase(row.end.f))
        wanted |= {(Kind[name.upper()], storable(each)) for name, each in zip(PHRASES, texts, strict=True)}
    return wanted
