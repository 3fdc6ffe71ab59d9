"""Numbers of tests: the index of a test in every vector, given once and for ever, without gaps."""

from collections.abc import Sequence
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from conformance.store import phrases
from conformance.store.columns import Columns, storable
from conformance.store.phrases import PARTS, Cursor

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)

_NEW = np.dtype(
    [("fields", ">i2"), ("length_id", ">i4"), ("id", ">i4"), ("length_digest", ">i4"), ("digest", "V16")]
    + [pair for part in PARTS for pair in ((f"length_{part.name.lower()}", ">i4"), (part.name.lower(), ">i4"))]
)
"""A new test's row in a binary COPY up to its key: number of fields, then each with its length in front."""

_DIGEST = np.dtype("V16")


def known(cursor: Cursor) -> dict[bytes, int]:
    """Every test's number by the digest of its key. Numbers have no gaps, so the digests in order are enough."""
    digests = read_rows(cursor, "digest", _DIGEST).tolist()
    return dict(zip(digests, range(len(digests)), strict=True))


def read_rows(cursor: Cursor, columns: str, row: np.dtype[np.void]) -> NDArray[np.void]:
    """Equally long bytes of every test, by number: one value of the server instead of a row a test."""
    found = cursor.execute(f"SELECT string_agg({columns}, '' ORDER BY id) FROM test", binary=True).fetchone()
    return np.frombuffer(bytes(found[0]) if found is not None and found[0] is not None else b"", row)


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
    tests = [read.tests[place].id for place in missing]
    columns = [list(map(attrgetter(part.name.lower()), tests)) for part in PARTS]
    wanted = {(part, each) for part, column in zip(PARTS, columns, strict=True) for each in set(column)}
    stored = phrases.intern(cursor, {(part, storable(each)) for part, each in wanted})
    fixed = np.zeros(len(missing), _NEW)
    fixed["fields"], fixed["length_id"], fixed["length_digest"] = 3 + len(PARTS), 4, 16
    fixed["id"] = np.arange(first, first + len(missing))
    fixed["digest"] = np.frombuffer(b"".join([digests[place] for place in missing]), _DIGEST)
    for part, column in zip(PARTS, columns, strict=True):
        numbers = {each: stored[part, storable(each)] for each in set(column)}
        fixed[f"length_{part.name.lower()}"] = 4
        fixed[part.name.lower()] = list(map(numbers.__getitem__, column))
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
