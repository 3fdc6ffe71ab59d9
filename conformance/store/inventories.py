"""The inventory of a stored run: the overloads as a blob that runs share, what its tests took as one packed row."""

import hashlib
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from conformance import inventory, journal
from conformance.errors import StoreError
from conformance.inventory import Group, Inventory, Overloads, Reaching
from conformance.journal import Reach
from conformance.outcomes import Outcome, outcome_of
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
    outcomes = [outcome_of(int(byte))[0] or Outcome.NOT_RUN for byte in read.status]
    groups: Counter[Group] = Counter(zip(_names(read), outcomes, strict=True))
    named = Counter(zip([each.id.op for each in read.tests], outcomes, strict=True))
    return overloads, inventory.tally(overloads, _sets(files.journals), groups, named)


def _names(read: Columns) -> Iterable[tuple[str, ...]]:
    """The sets of ops that each test's attempts took, in plan order."""
    several: defaultdict[int, set[str]] = defaultdict(set)
    for each in read.kept:
        several[each.place].add(each.end.u)
    for place, shown in enumerate(read.shown):
        if place in several:
            yield tuple(sorted(filter(None, several[place] | {shown.u})))
        else:
            yield (shown.u,) if shown.u else ()


def _sets(journals: Iterable[bytes]) -> Mapping[str, Reach]:
    return {each.u: each for data in journals for each in journal.reaches(data)}


def write(cursor: Cursor, run: int, read: Columns, files: Files) -> None:
    """Store the inventory of a run that has one. Call under the ingest lock."""
    found = reaching(read, files)
    if found is None:
        return
    body = msgspec.json.encode(found[0])
    digest = hashlib.blake2b(body, digest_size=16).digest()
    cursor.execute(
        "INSERT INTO inventory (run_id, digest, overloads, reaching) VALUES (%b, %b, %b, %b)",
        (run, read.digest, phrases.keep(cursor, {digest: body})[digest], zlib.compress(msgspec.json.encode(found[1]))),
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
