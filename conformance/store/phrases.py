"""Content-addressed texts: each is stored once, runs refer to it by number."""

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, TypeAlias

import psycopg


class Kind(IntEnum):
    """What a phrase says; the numbers are for ever."""

    SUITE = 1
    FILE = 2
    CLS = 3
    OP = 4
    VARIANT = 5
    DTYPE = 6
    KIND = 7
    RULE = 11
    CAUSE = 12
    CODE = 13
    MESSAGE = 14
    FALLBACK = 15
    SOURCE = 16
    LEAKED = 17
    REUSED = 18


Cursor: TypeAlias = psycopg.Cursor[Any]

PARTS = (Kind.SUITE, Kind.FILE, Kind.CLS, Kind.OP, Kind.VARIANT, Kind.DTYPE, Kind.KIND)
"""The parts of a test's identity, in the order of the table's columns."""


def digest(text: str) -> bytes:
    """Sixteen bytes by which a text is found: long ones do not fit an index."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()


def intern(cursor: Cursor, wanted: Iterable[tuple[Kind, str]]) -> dict[tuple[Kind, str], int]:
    """Numbers of texts, stored when they are new; an empty text is always 0. Call under the ingest lock."""
    named = {(int(kind), digest(body)): (kind, body) for kind, body in wanted if body}
    numbers: dict[tuple[Kind, str], int] = {}
    found = _find(cursor, list(named))
    missing = [each for each in named if each not in found]
    if missing:
        found.update(_insert(cursor, missing, [named[each][1] for each in missing]))
    for each, number in found.items():
        numbers[named[each]] = number
    return numbers | {(kind, ""): 0 for kind in Kind}


def _find(cursor: Cursor, wanted: list[tuple[int, bytes]]) -> dict[tuple[int, bytes], int]:
    rows = cursor.execute(
        "SELECT p.kind, p.digest, p.id FROM unnest(%b::smallint[], %b::bytea[]) AS w (kind, digest) "
        "JOIN phrase p ON p.kind = w.kind AND p.digest = w.digest",
        ([kind for kind, _ in wanted], [each for _, each in wanted]),
        binary=True,
    )
    return {(kind, bytes(each)): number for kind, each, number in rows}


def _insert(cursor: Cursor, missing: list[tuple[int, bytes]], bodies: list[str]) -> dict[tuple[int, bytes], int]:
    rows = cursor.execute(
        "INSERT INTO phrase (kind, digest, body) SELECT * FROM unnest(%b::smallint[], %b::bytea[], %b::text[]) "
        "RETURNING kind, digest, id",
        ([kind for kind, _ in missing], [each for _, each in missing], bodies),
        binary=True,
    )
    return {(kind, bytes(each)): number for kind, each, number in rows}


def keep(cursor: Cursor, bodies: Mapping[bytes, bytes]) -> dict[bytes, int]:
    """Numbers of blobs by digest; new ones are stored deflated. Call under the ingest lock."""
    rows = cursor.execute("SELECT digest, id FROM blob WHERE digest = ANY(%b)", (list(bodies),), binary=True)
    found = {bytes(each): number for each, number in rows}
    missing = [each for each in bodies if each not in found]
    if missing:
        packed = [zlib.compress(bodies[each], 1) for each in missing]
        rows = cursor.execute(
            "INSERT INTO blob (digest, body) SELECT * FROM unnest(%b::bytea[], %b::bytea[]) RETURNING digest, id",
            (missing, packed),
            binary=True,
        )
        found.update((bytes(each), number) for each, number in rows)
    return found
