"""Runs as they are stored: listing, finding, and what a name stands for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from conformance import outcomes
from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.plan import Selection
from conformance.store.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """One stored run. Times are in UTC; `digest` changes whenever what is stored of the run does."""

    number: int
    uid: str
    digest: str
    target: str
    release: str
    simulated: bool
    torch: str
    selection: Selection
    profile: str
    whole: bool
    environment: Mapping[str, str]
    fingerprint: Mapping[str, str]
    plan_digest: str
    planned: int
    started: datetime
    finished: datetime
    ingested: datetime
    sealed: bool
    supervised: bool
    flaky: int
    counts: Mapping[Outcome, int]
    folder: str

    @property
    def eligible(self) -> int:
        """Planned tests less those that do not apply, are unusable, or were lost to the machine."""
        return outcomes.eligible(self.counts)

    @property
    def passed(self) -> int:
        """Tests that passed on the device."""
        return self.counts.get(Outcome.PASS, 0)

    @property
    def right(self) -> int:
        """Tests with the right result, on the device or by falling back."""
        return outcomes.right(self.counts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """The run that a name stands for, and one sentence that says which it is when the name left a choice."""

    run: RunRow
    remark: str


_COLUMNS = (
    "id, uid, digest, target, release, simulated, torch, selection, profile, whole, environment, fingerprint, "
    "plan_digest, planned, started, finished, ingested, sealed, supervised, flaky, counts, folder"
)


def list_runs(
    store: Store,
    *,
    target: str = "",
    release: str = "",
    before: tuple[datetime, int] | None = None,
    limit: int = 50,
) -> Sequence[RunRow]:
    """Runs, newest first. `before`: started and number of the last one seen, for the next page."""
    started, number = before or (None, None)
    rows = store.rows(
        f"SELECT {_COLUMNS} FROM run WHERE :target IN ('', target) AND :release IN ('', release) "
        "AND (CAST(:started AS timestamptz) IS NULL OR (started, id) < (CAST(:started AS timestamptz), :number)) "
        "ORDER BY started DESC, id DESC LIMIT :limit",
        target=target, release=release, started=started, number=number, limit=limit,
    )  # fmt: skip
    return [_run(dict(each)) for each in rows]


def find_run(store: Store, uid: str) -> RunRow | None:
    """The run of an id."""
    rows = store.rows(f"SELECT {_COLUMNS} FROM run WHERE uid = :uid", uid=uid)
    return _run(dict(rows[0])) if rows else None


def runs_by_uid(store: Store, uids: Sequence[str]) -> dict[str, RunRow]:
    """The runs of these ids; ones that do not exist are left out."""
    rows = store.rows(f"SELECT {_COLUMNS} FROM run WHERE uid = ANY(:uids)", uids=list(uids))
    return {run.uid: run for run in (_run(dict(each)) for each in rows)}


def resolve(store: Store, name: str) -> Resolved:
    """The run that a run id or a release's name stands for.

    A release stands for its latest sealed run over a whole profile, else for its latest run. Raises UsageError for a
    name that is neither.
    """
    if (run := find_run(store, name)) is not None:
        return Resolved(run=run, remark="")
    rows = store.rows(
        f"SELECT {_COLUMNS} FROM run WHERE release = :name ORDER BY (sealed AND whole) DESC, started DESC, id DESC "
        "LIMIT 1",
        name=name,
    )
    if not rows:
        raise UsageError(f"{name!r} is neither a stored run nor a release with one: 'conformance runs' lists them")
    run = _run(dict(rows[0]))
    return Resolved(run=run, remark=f"{name} is its {_described(run)} {run.uid} of {run.started:%Y-%m-%d %H:%M} UTC")


def _described(run: RunRow) -> str:
    if run.sealed and run.whole:
        return f"latest sealed run over the whole profile {run.profile!r},"
    return f"latest run ({'a selection' if run.sealed else 'not sealed'}, none is sealed over a whole profile),"


def _run(row: dict[str, Any]) -> RunRow:
    row["number"] = row.pop("id")
    row["selection"] = msgspec.convert(row["selection"], Selection)
    row["counts"] = {Outcome.from_word(word): number for word, number in row["counts"].items()}
    return RunRow(**row)
