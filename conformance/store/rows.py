"""What ingest writes of one run: its row, its vectors, its kept attempts."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from psycopg.types.json import Jsonb

from conformance.journal import End
from conformance.outcomes import Outcome
from conformance.store import phrases
from conformance.store.columns import Attempted, Columns, fallback_phrase, storable
from conformance.store.phrases import Cursor, Kind
from conformance.store.vectors import ATTEMPT_PHRASES, Vector, counts, flaky, pack, spread

Numbers: TypeAlias = Mapping[str, Mapping[str, int]]
"""Numbers of phrases by column and by text as recorded."""


def replace_run(cursor: Cursor, read: Columns, folder: Path) -> int:
    """Insert or replace the run's row; what an earlier ingest stored under it goes. Returns its number."""
    values = _identity(read, folder) | _extent(read)
    names, marks = ", ".join(values), ", ".join(f"%({each})s" for each in values)
    renewed = ", ".join(f"{each} = excluded.{each}" for each in values if each != "uid")
    row = cursor.execute(
        f"INSERT INTO run ({names}) VALUES ({marks}) ON CONFLICT (uid) DO UPDATE SET {renewed} RETURNING id", values
    ).fetchone()
    assert row is not None
    for table in ("vector", "side", "attempt", "inventory", "models"):
        cursor.execute(f"DELETE FROM {table} WHERE run_id = %s", (row[0],))
    return int(row[0])


def _identity(read: Columns, folder: Path) -> dict[str, object]:
    header = read.header
    environment = _storable_map(header.environment)
    fingerprint = _storable_map(header.fingerprint)
    return {
        "uid": storable(header.run), "digest": read.digest, "target": storable(header.target),
        "release": storable(header.release), "simulated": header.simulated,
        "torch": environment.get("torch") or fingerprint.get("torch", ""),
        "selection": json.dumps(_storable_parts(msgspec.to_builtins(header.selection))),
        "profile": storable(header.selection.profile), "whole": header.selection.whole,
        "environment": json.dumps(environment), "fingerprint": json.dumps(fingerprint),
        "plan_digest": storable(header.plan_digest), "supervised": header.supervised,
        "folder": storable(str(folder.absolute())),
    }  # fmt: skip


def _extent(read: Columns) -> dict[str, object]:
    counted = counts(read.status)
    return {
        "planned": len(read.tests), "sealed": Outcome.NOT_RUN not in counted, "flaky": flaky(read.status),
        "counts": json.dumps({outcome.word: number for outcome, number in counted.items()}),
        "started": datetime.fromtimestamp(read.header.started, UTC),
        "finished": datetime.fromtimestamp(read.finished, UTC), "ingested": datetime.now(UTC),
    }  # fmt: skip


def _storable_map(texts: Mapping[str, str]) -> dict[str, str]:
    return {storable(name): storable(value) for name, value in texts.items()}


def _storable_parts(value: object) -> object:
    """The same with every text storable: jsonb refuses an escaped NUL as text does a bare one."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(name)): _storable_parts(each) for name, each in value.items()}
    return [_storable_parts(each) for each in value] if isinstance(value, list | tuple) else value


def number_phrases(cursor: Cursor, texts: Mapping[str, Sequence[str]], kept: Iterable[Attempted]) -> Numbers:
    """The number of every text of a run by column and text, new ones stored. Call under the ingest lock."""
    wanted = {name: set(column) for name, column in texts.items()}
    for row in kept:
        for name, text in zip(ATTEMPT_PHRASES, _texts(row.end), strict=True):
            wanted[name].add(text)
    stored = phrases.intern(
        cursor, {(Kind[name.upper()], storable(each)) for name, column in wanted.items() for each in column}
    )
    return {
        name: {each: stored[Kind[name.upper()], storable(each)] for each in column} for name, column in wanted.items()
    }


def _texts(end: End) -> tuple[str, ...]:
    return (end.r, end.c, end.k, end.m, fallback_phrase(end.f))


def coded(texts: Mapping[str, Sequence[str]], numbers: Numbers) -> dict[str, Vector]:
    """The columns of texts as numbers of phrases."""
    return {
        name: np.fromiter(map(numbers[name].__getitem__, column), np.int32, len(column))
        for name, column in texts.items()
    }


def write_vectors(
    cursor: Cursor, run: int, read: Columns, coded: Mapping[str, Vector], places: NDArray[np.int32]
) -> None:
    """The status and definition vectors, and every side column that is not all zero."""
    size = int(places.max(initial=-1)) + 1
    definition = spread(read.definition, places, size).astype("<u8").tobytes()
    blob = phrases.keep(cursor, {_digest(definition): definition})[_digest(definition)]
    status = spread(read.status, places, size).tobytes()
    cursor.execute("INSERT INTO vector (run_id, definition, status) VALUES (%b, %b, %b)", (run, blob, status))
    for name, values in {**read.sides(), **coded}.items():
        if values.any():
            cursor.execute(
                "INSERT INTO side (run_id, name, body) VALUES (%s, %s, %b)",
                (run, name, pack(spread(values, places, size))),
            )


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


def write_attempts(
    cursor: Cursor, run: int, kept: Sequence[Attempted], numbers: Numbers, places: NDArray[np.int32]
) -> None:
    """A row for each attempt at a test that failed or was tried more than once."""
    details = [storable(each.end.x).encode() for each in kept]
    digests = [_digest(each) for each in details]
    blobs = phrases.keep(cursor, {key: body for key, body in zip(digests, details, strict=True) if body})
    with cursor.copy(
        "COPY attempt (run_id, test_id, number, outcome, ran_on, stage, rule, cause, code, message, fallback, detail, "
        "seconds, alone) FROM STDIN (FORMAT binary)"
    ) as copied:
        copied.set_types(["int4", "int4", "int2", "int2", "text", "text", *["int4"] * 5, "int8", "jsonb", "bool"])
        columns = [numbers[name] for name in ATTEMPT_PHRASES]
        for row, key in zip(kept, digests, strict=True):
            end = row.end
            codes = [column[text] for column, text in zip(columns, _texts(end), strict=True)]
            copied.write_row(
                (run, int(places[row.place]), end.n, int(end.o), end.on.value, end.s.value, *codes, blobs.get(key),
                 Jsonb(_storable_parts(end.d), dumps=msgspec.json.encode), end.a)
            )  # fmt: skip
