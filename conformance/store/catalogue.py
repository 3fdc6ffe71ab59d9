"""Every test's parts as vectors, kept in memory: what turns status vectors into counts by op, dtype or kind."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conformance.outcomes import TestId
from conformance.store import phrases
from conformance.store.numbers import read_rows
from conformance.store.phrases import PARTS, Kind
from conformance.store.store import Store

_ROW = np.dtype([(each.name, ">i4") for each in PARTS])


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalogue:
    """`codes[part]` holds a phrase's number a test, shape (tests,); `labels` the phrases; 0 is the empty one."""

    size: int
    codes: Mapping[Kind, NDArray[np.int32]]
    labels: Mapping[int, str]
    numbers: Mapping[tuple[Kind, str], int]

    def code(self, part: Kind, label: str) -> int:
        """The number of a label, -1 for one that no test has."""
        return self.numbers.get((part, label), -1)

    def values(self, part: Kind) -> list[str]:
        """The labels of a part that tests have, sorted."""
        return sorted(self.labels[int(each)] for each in np.unique(self.codes[part]))


@dataclass(frozen=True, kw_only=True, slots=True)
class TestRow:
    """A test as it is stored: its number and its identity."""

    __test__ = False

    number: int
    id: TestId

    @property
    def key(self) -> str:
        """The identity as one string."""
        return self.id.key


def catalogue(store: Store) -> Catalogue:
    """The catalogue; loaded again when tests were added since."""
    size = int(store.rows("SELECT coalesce(max(id) + 1, 0) AS size FROM test")[0]["size"])
    return store.cache.get(("catalogue", size), lambda: _load(store), lambda made: made.size * 40)


def _load(store: Store) -> Catalogue:
    columns = " || ".join(f"int4send({each.name.lower()})" for each in PARTS)
    with store.raw() as cursor:
        rows = read_rows(cursor, columns, _ROW)
        kinds = [int(each) for each in PARTS]
        named = cursor.execute("SELECT id, kind, body FROM phrase WHERE kind = ANY(%s)", (kinds,)).fetchall()
    return Catalogue(
        size=len(rows),
        codes={part: rows[part.name].astype(np.int32) for part in PARTS},
        labels={0: ""} | {number: body for number, _, body in named},
        numbers={(Kind(kind), body): number for number, kind, body in named} | {(part, ""): 0 for part in PARTS},
    )


def suites_of(store: Store, size: int) -> tuple[NDArray[np.int32], Mapping[int, str]]:
    """The number of the suite of each of the first tests, shape (size,), and the suites' names.

    Far quicker than the whole catalogue, for a command that asks once.
    """
    with store.raw() as cursor:
        numbers = read_rows(cursor, "int4send(suite)", np.dtype([("suite", ">i4")]))["suite"]
        named = cursor.execute("SELECT id, body FROM phrase WHERE kind = %s", (int(Kind.SUITE),)).fetchall()
    return numbers[:size].astype(np.int32), {0: ""} | dict(named)


def numbered_tests(store: Store, numbers: Iterable[int]) -> dict[int, TestRow]:
    """The tests of these numbers; ones that do not exist are left out."""
    wanted = sorted({int(each) for each in numbers})
    return {each.number: each for each in _tests(store, "id = ANY(:wanted)", wanted=wanted)} if wanted else {}


def find_test(store: Store, key: str) -> TestRow | None:
    """The test of an identity; None when no run ever planned it."""
    return next(iter(_tests(store, "digest = :digest", digest=phrases.digest(key))), None)


def search_tests(store: Store, part_of_key: str, *, after: int = -1, limit: int = 50) -> Sequence[TestRow]:
    """Tests whose identity contains a text (case-insensitive), by number; `after` is the last number seen."""
    return _tests(store, "key ILIKE :pattern AND id > :after", limit=limit, pattern=like(part_of_key), after=after)


def like(text: str) -> str:
    """A LIKE pattern for keys that contain a text."""
    return "%" + "".join(f"\\{each}" if each in "\\%_" else each for each in text) + "%"


_TEXTS = ", ".join(
    f"coalesce((SELECT body FROM phrase WHERE phrase.id = test.{each.name.lower()}), '') AS {each.name.lower()}"
    for each in PARTS
)


def _tests(store: Store, where: str, *, limit: int | None = None, **values: object) -> list[TestRow]:
    sql = f"SELECT id, key, {_TEXTS} FROM test WHERE {where} ORDER BY id LIMIT :limit"
    return [_row(dict(each)) for each in store.rows(sql, limit=limit, **values)]


def _row(row: Mapping[str, object]) -> TestRow:
    texts = {each.name.lower(): str(row[each.name.lower()]) for each in PARTS}
    # The name is what is left of the key, so it is not stored twice.
    name = str(row["key"])[len(texts["suite"]) + len(texts["file"]) + len(texts["cls"]) + 3 * len("::") :]
    return TestRow(number=int(str(row["id"])), id=TestId(name=name, **texts))
