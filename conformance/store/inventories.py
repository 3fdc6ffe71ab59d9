"""The inventory of a stored run: the overloads as a blob that runs share, what its tests took as one packed row."""

import hashlib
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from conformance import inventory, journal
from conformance.errors import StoreError
from conformance.inventory import Group, Inventory, Overloads, Reaching
from conformance.opsets import Taken
from conformance.outcomes import FLAKY, Outcome
from conformance.store import phrases
from conformance.store.columns import Columns, Files
from conformance.store.phrases import Cursor
from conformance.store.runs import RunRow
from conformance.store.store import Store


def reaching(read: Columns, files: Files) -> tuple[Overloads, Reaching] | None:
    """What the tests of a run took; None when nothing was asked before it."""
    overloads = inventory.read(files.folder.overloads)
    if overloads is None:
        return None
    codes = (read.status & ~np.uint8(FLAKY)).tolist()
    groups: Counter[Group] = Counter()
    for (names, code), number in Counter(zip(_names(read), codes, strict=True)).items():
        groups[_group(names), Outcome(code)] += number
    ops = Counter(zip([each.id.op for each in read.tests], codes, strict=True))
    named = {(op, Outcome(code)): number for (op, code), number in ops.items()}
    return overloads, inventory.tally(overloads, _sets(files.journals), groups, named)


def _names(read: Columns) -> list[str | tuple[str, ...]]:
    """The set of ops that each test took, in plan order; the sets of all attempts where these are kept."""
    names: list[str | tuple[str, ...]] = [each.u for each in read.shown]
    several: dict[int, set[str]] = {}
    for each in read.kept:
        if each.end is not read.shown[each.place]:
            several.setdefault(each.place, {read.shown[each.place].u}).add(each.end.u)
    for place, found in several.items():
        names[place] = tuple(sorted(found))
    return names


def _group(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(None, (names,) if isinstance(names, str) else names))


def _sets(journals: Iterable[bytes]) -> Mapping[str, Taken]:
    return {name: found for data in journals for name, found in journal.sets(data).items()}


def write(cursor: Cursor, run: int, digest_of_run: str, found: tuple[Overloads, Reaching] | None) -> None:
    """Store the inventory of a run that has one. Call under the ingest lock."""
    if found is None:
        return
    body = msgspec.json.encode(found[0])
    digest = hashlib.blake2b(body, digest_size=16).digest()
    cursor.execute(
        "INSERT INTO inventory (run_id, digest, overloads, reaching) VALUES (%b, %b, %b, %b)",
        (
            run,
            digest_of_run,
            phrases.keep(cursor, {digest: body})[digest],
            zlib.compress(msgspec.json.encode(found[1])),
        ),
    )


def find(store: Store, run: RunRow) -> Inventory | None:
    """The inventory of a stored run; None when nothing was asked before it."""
    rows = store.rows(
        "SELECT blob.body, inventory.reaching FROM inventory JOIN blob ON blob.id = inventory.overloads "
        "WHERE run_id = :number AND inventory.digest = :digest",
        number=run.number, digest=run.digest,
    )  # fmt: skip
    if not rows:
        return None
    try:
        overloads = msgspec.json.decode(zlib.decompress(rows[0]["body"]), type=Overloads)
        return Inventory(
            overloads=overloads,
            reaching=msgspec.json.decode(zlib.decompress(rows[0]["reaching"]), type=Reaching),
        )
    except (zlib.error, msgspec.DecodeError) as error:
        raise StoreError(
            f"the inventory of run {run.uid} is damaged ({error}): ingest the run's folder again"
        ) from None
