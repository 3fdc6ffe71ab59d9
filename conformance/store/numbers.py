"""Numbers of tests: the index of a test in every vector, given once and for ever, without gaps."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conformance.outcomes import TestId
from conformance.store import phrases
from conformance.store.columns import Columns, storable
from conformance.store.phrases import PARTS, Cursor

_ROW = np.dtype([("fields", ">i2"), ("l1", ">i4"), ("digest", "V16"), ("l2", ">i4"), ("id", ">i4")])

_HEADER = 19
"""Bytes before the first row of a binary COPY: signature, flags, length of the extension."""

_TRAILER = 2
"""Bytes after the last row: a field count of -1."""


def read_binary(cursor: Cursor, query: str, row: np.dtype[np.void]) -> NDArray[np.void]:
    """The rows of a query whose fields are never null and always equally long, as one structured array."""
    with cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT binary)") as copied:
        data = b"".join(bytes(each) for each in copied)
    return np.frombuffer(data[_HEADER:-_TRAILER], row)


def known(cursor: Cursor) -> dict[bytes, int]:
    """Every test's number by the digest of its key."""
    rows = read_binary(cursor, "SELECT digest, id FROM test", _ROW)
    return dict(zip(rows["digest"].tolist(), rows["id"].tolist(), strict=True))


def number_tests(cursor: Cursor, read: Columns) -> NDArray[np.int32]:
    """The number of each planned test, in plan order; new tests are stored. Call under the ingest lock.

    Numbers start at 0 and go on from the highest given: a sequence would leave gaps after each rollback.
    """
    numbers = known(cursor)
    digests = [phrases.digest(each) for each in read.keys]
    missing = [place for place, each in enumerate(digests) if each not in numbers]
    if missing:
        first = len(numbers)
        numbers |= {digests[place]: first + offset for offset, place in enumerate(missing)}
        _store(cursor, read, missing, digests, first)
    return np.fromiter((numbers[each] for each in digests), np.int32, len(digests))


def _store(cursor: Cursor, read: Columns, missing: Sequence[int], digests: Sequence[bytes], first: int) -> None:
    parts = {place: [storable(each) for each in _parts(read.tests[place].id)] for place in missing}
    wanted = {pair for texts in parts.values() for pair in zip(PARTS, texts, strict=True)}
    numbers = phrases.intern(cursor, wanted)
    with cursor.copy(
        "COPY test (id, digest, suite, file, cls, op, variant, dtype, kind, key) FROM STDIN (FORMAT binary)"
    ) as copied:
        copied.set_types(["int4", "bytea", *["int4"] * len(PARTS), "text"])
        for offset, place in enumerate(missing):
            codes = [numbers[pair] for pair in zip(PARTS, parts[place], strict=True)]
            copied.write_row((first + offset, digests[place], *codes, read.keys[place]))


def _parts(test: TestId) -> tuple[str, ...]:
    return (test.suite, test.file, test.cls, test.op, test.variant, test.dtype, test.kind)
