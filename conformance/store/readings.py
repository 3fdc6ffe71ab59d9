"""A stored run's vectors, each read once and kept; all as long as the greatest test number that the run planned."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from conformance.errors import StoreError
from conformance.outcomes import Phase
from conformance.store.runs import RunRow
from conformance.store.store import Store
from conformance.store.vectors import SIDES, Vector, decode_seconds, unpack

_STATUS: Final = "(SELECT status FROM vector WHERE run_id = run.id)"
_DEFINITION: Final = (
    "(SELECT body FROM blob WHERE blob.id = (SELECT vector.definition FROM vector WHERE run_id = run.id))"
)
_SIDE: Final = "(SELECT body FROM side WHERE run_id = run.id AND name = :name)"


def status(store: Store, run: RunRow) -> NDArray[np.uint8]:
    """The status byte of each test; 0 for one that the run did not plan."""
    return _kept(store, run, "status", lambda: np.frombuffer(_body(store, run, _STATUS) or b"", np.uint8)).view(
        np.uint8
    )


def definition(store: Store, run: RunRow) -> NDArray[np.uint64]:
    """Eight bytes a test of its definition hash; 0 for one that the run did not plan."""
    read = lambda: unpack(_body(store, run, _DEFINITION) or b"", np.uint64)  # noqa: E731
    return _kept(store, run, "definition", read).view(np.uint64)


def side(store: Store, run: RunRow, name: str) -> Vector:
    """The side column of that name (see `vectors.SIDES`)."""

    def read() -> Vector:
        body = _body(store, run, _SIDE, name=name)
        # A column that was all zero is not stored.
        return np.zeros(len(status(store, run)), SIDES[name]) if body is None else unpack(body, SIDES[name])

    return _kept(store, run, name, read)


def phrase_numbers(store: Store, run: RunRow, name: str) -> NDArray[np.int32]:
    """A side column of phrases: "rule", "cause", "code", "message", "fallback", "source", "leaked", "reused"."""
    return side(store, run, name).view(np.int32)


def seconds(store: Store, run: RunRow) -> Mapping[str, NDArray[np.float64]]:
    """Seconds a test for each phase that was measured in this run; 0.0 where it was not."""
    stored = {each.value: side(store, run, f"seconds.{each.value}").view(np.uint16) for each in Phase}
    return {phase: decode_seconds(column) for phase, column in stored.items() if column.any()}


def seconds_at(store: Store, run: RunRow, numbers: Sequence[int]) -> list[dict[str, float]]:
    """Seconds by phase of some tests, in the order given; phases that were not measured are left out."""
    found: list[dict[str, float]] = [{} for _ in numbers]
    for phase in Phase:
        stored = side(store, run, f"seconds.{phase.value}").view(np.uint16)[list(numbers)]
        for place, value in enumerate(decode_seconds(stored).tolist()):
            if value:
                found[place][phase.value] = value
    return found


def _body(store: Store, run: RunRow, column: str, **values: object) -> bytes | None:
    """A stored body, of exactly the run that was asked for: it may have been replaced since its row was read."""
    sql = f"SELECT {column} AS body FROM run WHERE id = :run AND digest = :digest"
    rows = store.rows(sql, run=run.number, digest=run.digest, **values)
    if not rows:
        raise StoreError(f"run {run.uid} was replaced or deleted while it was read: ask again")
    return None if rows[0]["body"] is None else bytes(rows[0]["body"])


def _kept(store: Store, run: RunRow, name: str, read: Callable[[], Vector]) -> Vector:
    return store.cache.get((run.number, run.digest, name), read, lambda made: made.nbytes)
