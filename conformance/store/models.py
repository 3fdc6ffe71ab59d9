"""The models of stored runs: a catalogue and its attribution as blobs that runs share, facts packed into a row."""

import hashlib
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from conformance.attribution import Entries, Models, Own, Shares, Stand
from conformance.errors import StoreError
from conformance.store import phrases
from conformance.store.columns import Columns, storable
from conformance.store.phrases import Cursor
from conformance.store.runs import RunRow, runs_by_uid
from conformance.store.store import Store

T = TypeVar("T")


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """Where the facts of an attempt are, and what was measured in it."""

    test: int
    number: int
    blob: int
    seconds: dict[str, float]
    memory: dict[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelTable:
    """The catalogue of a run: columns of equal length, an element an entry, and what stands for entries.

    `stand` is a place in `stands`; `text` tells models that continue text; `folded` are ids for searching.
    """

    ids: list[str]
    folded: list[str]
    downloads: NDArray[np.int64]
    source: NDArray[np.int32]
    sources: list[str]
    variant: NDArray[np.int32]
    stand: NDArray[np.int32]
    text: NDArray[np.bool_]
    stands: list[Stand]
    owns: int

    @property
    def bytes(self) -> int:
        """About what it takes in memory."""
        return 200 * len(self.ids) + 600 * len(self.stands)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFacts:
    """What an attempt came to. `told` is what its process wrote of it; `seconds` are by stage, `memory` is in bytes."""

    number: int
    told: Mapping[str, Any]
    seconds: Mapping[str, float]
    memory: Mapping[str, int]


def write(cursor: Cursor, run: int, read: Columns, found: Models | None, places: NDArray[np.int32]) -> None:
    """Store the models of a run that has some. Call under the ingest lock."""
    if found is None:
        return
    bodies = [_json(found.entries), _json(found.shares), found.owns, _json(found.stands)]
    tests = dict(zip(read.keys, places.tolist(), strict=True))
    facts = [(tests[key], each) for each in found.facts if (key := storable(each.key)) in tests]
    digests = [_digest(each) for each in bodies]
    told = {_digest(each.body): each.body for _, each in facts}
    numbers = phrases.keep(cursor, {**dict(zip(digests, bodies, strict=True)), **found.configs, **told})
    kept = [_Kept(test, each.number, numbers[_digest(each.body)], dict(each.seconds), dict(each.memory))
            for test, each in facts]  # fmt: skip
    cursor.execute(
        "INSERT INTO models (run_id, digest, entries, shares, owns, stands, facts) VALUES (%b, %b, %b, %b, %b, %b, %b)",
        (run, read.digest, *(numbers[each] for each in digests), zlib.compress(msgspec.msgpack.encode(kept), 1)),
    )


def _json(value: object) -> bytes:
    return msgspec.json.encode(value)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


def newest_with_models(store: Store) -> RunRow | None:
    """The newest stored run that has models."""
    rows = store.rows(
        "SELECT uid FROM run JOIN models ON run_id = run.id AND models.digest = run.digest "
        "ORDER BY started DESC, run.id DESC LIMIT 1"
    )
    return runs_by_uid(store, [rows[0]["uid"]]).get(rows[0]["uid"]) if rows else None


def has_models(store: Store, run: RunRow) -> bool:
    """Whether a stored run has models."""
    return bool(_row(store, run, "run_id"))


def find(store: Store, run: RunRow) -> ModelTable | None:
    """The catalogue of a stored run; None for a run without models."""
    found = _row(store, run, "entries, shares, owns, stands")
    if not found:
        return None
    numbers = tuple(int(found[name]) for name in ("entries", "shares", "owns", "stands"))
    # Runs of one catalogue have the same blobs, so one table in memory serves them all.
    return store.cache.get(("models", *numbers), lambda: _table(store, run, numbers), lambda made: made.bytes)


def _row(store: Store, run: RunRow, columns: str) -> Mapping[str, Any]:
    rows = store.rows(
        f"SELECT {columns} FROM models WHERE run_id = :run AND digest = :digest", run=run.number, digest=run.digest
    )
    return dict(rows[0]) if rows else {}


def _table(store: Store, run: RunRow, numbers: tuple[int, ...]) -> ModelTable:
    entries = _decoded(store, run, numbers[0], Entries)
    shares = _decoded(store, run, numbers[1], Shares)
    stands = _decoded(store, run, numbers[3], list[Stand])
    variant = np.array(shares.variant, np.int32)
    return ModelTable(
        ids=entries.ids, folded=[each.casefold() for each in entries.ids],
        downloads=np.array(entries.downloads, np.int64), source=np.array(entries.source, np.int32),
        sources=entries.sources, variant=variant, stand=np.array(shares.stand, np.int32)[variant],
        text=np.array(shares.text, np.bool_)[variant], stands=stands, owns=numbers[2],
    )  # fmt: skip


def own_of(store: Store, run: RunRow, table: ModelTable, place: int) -> Own:
    """What is the own of the entry at a place of a run's catalogue."""
    lines = store.cache.get(("owns", table.owns), lambda: _body(store, run, table.owns).split(b"\n"),
                            lambda made: sum(map(len, made)))  # fmt: skip
    return _sound(run, lambda: msgspec.json.decode(lines[int(table.variant[place])], type=Own))


def configs_of(store: Store, run: RunRow, stand: Stand) -> tuple[dict[str, Any], dict[str, Any]]:
    """The reduced configuration of a signature, and the complete one of its `model`; empty for a refused one."""
    if not stand.configs:
        return {}, {}
    rows = store.rows("SELECT body FROM blob WHERE digest = :digest", digest=bytes.fromhex(stand.configs))
    if not rows:
        raise _damaged(run, "a configuration is gone")
    found = _sound(run, lambda: msgspec.json.decode(zlib.decompress(rows[0]["body"]), type=dict[str, dict[str, Any]]))
    return found["reduced"], found["full"]


def facts_of(store: Store, run: RunRow, test: int) -> list[ModelFacts]:
    """The facts of a run's attempts at a test, in order."""
    kept = store.cache.get(("facts", run.number, run.digest), lambda: _kept(store, run), lambda made: 300 * len(made))
    found = sorted(kept.get(test, ()), key=lambda each: each.number)
    return [
        ModelFacts(
            number=each.number, told=_decoded(store, run, each.blob, dict[str, Any]), seconds=each.seconds,
            memory=each.memory,
        )
        for each in found
    ]  # fmt: skip


def _kept(store: Store, run: RunRow) -> dict[int, list[_Kept]]:
    row, by_test = _row(store, run, "facts"), dict[int, list[_Kept]]()
    if row:
        for each in _sound(run, lambda: msgspec.msgpack.decode(zlib.decompress(row["facts"]), type=list[_Kept])):
            by_test.setdefault(each.test, []).append(each)
    return by_test


def _decoded(store: Store, run: RunRow, blob: int, kind: type[T]) -> T:
    body = _body(store, run, blob)
    return _sound(run, lambda: msgspec.json.decode(body, type=kind))


def _body(store: Store, run: RunRow, blob: int) -> bytes:
    rows = store.rows("SELECT body FROM blob WHERE id = :blob", blob=blob)
    return _sound(run, lambda: zlib.decompress(rows[0]["body"]))


def _sound(run: RunRow, read: Callable[[], T]) -> T:
    try:
        return read()
    except (zlib.error, msgspec.DecodeError, LookupError) as error:
        raise _damaged(run, str(error)) from None


def _damaged(run: RunRow, why: str) -> StoreError:
    return StoreError(f"the models of run {run.uid} are damaged ({why}): ingest the run's folder again")
