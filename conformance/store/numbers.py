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

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)

_NEW = np.dtype(
    [("fields", ">i2"), ("length_id", ">i4"), ("id", ">i4"), ("length_digest", ">i4"), ("digest", "V16")]
    + [pair for part in PARTS for pair in ((f"length_{part.name.lower()}", ">i4"), (part.name.lower(), ">i4"))]
)
"""A new test's row in a binary COPY up to its key: number of fields, then each with its length in front."""

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
    parts = [list(map(storable, _parts(read.tests[place].id))) for place in missing]
    columns = list(zip(*parts, strict=True))
    numbers = phrases.intern(
        cursor, {(part, each) for part, column in zip(PARTS, columns, strict=True) for each in column}
    )
    fixed = np.zeros(len(missing), _NEW)
    fixed["fields"] = 3 + len(PARTS)
    for field in _NEW.names or ():
        if field.startswith("length_"):
            fixed[field] = _NEW.fields[field.replace("length_", "")][0].itemsize
    fixed["id"] = np.arange(first, first + len(missing))
    fixed["digest"] = np.frombuffer(b"".join([digests[place] for place in missing]), "V16")
    for part, column in zip(PARTS, columns, strict=True):
        fixed[part.name.lower()] = [numbers[part, each] for each in column]
    _copy(cursor, fixed, [read.keys[place].encode() for place in missing])


def _copy(cursor: Cursor, fixed: NDArray[np.void], keys: Sequence[bytes]) -> None:
    """A binary COPY whose rows are put together by numpy: a tenth of the time of one call a row."""
    raw, width = fixed.tobytes(), fixed.dtype.itemsize
    rows = [
        part
        for place, key in enumerate(keys)
        for part in (raw[place * width : (place + 1) * width], len(key).to_bytes(4, "big"), key)
    ]
    names = ", ".join(each.name.lower() for each in PARTS)
    with cursor.copy(f"COPY test (id, digest, {names}, key) FROM STDIN (FORMAT binary)") as copied:
        copied.write(_SIGNATURE + b"".join(rows) + b"\xff\xff")


def _parts(test: TestId) -> tuple[str, ...]:
    return (test.suite, test.file, test.cls, test.op, test.variant, test.dtype, test.kind)
