"""How many of the most downloaded text-generation architectures run, in each mode, and what the others lack.

An architecture is a class, or where the library does not know it the name that the catalogue tells. It runs as its
*representative* runs: the signature, or the refusal, that most downloads of its text-generation models share. So the
figure is the same for a run that planned one signature of each architecture and for one that planned all of them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from conformance.outcomes import NOT_ELIGIBLE, Outcome
from conformance.store import OutcomeRow, Store, rows_of
from sweeps.reports.joined import MODES, NOT_PLANNED, Joined, Way, word_of

MOST: Final = 100
"""Architectures that are asked about."""
_OUT: Final = (NOT_PLANNED, *(each.word for each in NOT_ELIGIBLE))


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """What an architecture's representative came to in one mode; `lacks` says in a sentence why it is no pass."""

    outcome: str
    number: int | None
    stage: str
    rule: str
    message: str
    fallback_ops: Sequence[str]
    lacks: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Covered:
    """One architecture: its text-generation models, and its representative in each mode."""

    rank: int
    architecture: str
    family: str
    models: int
    downloads: int
    signature: str
    modes: Mapping[str, Ended]


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """Of the architectures asked about, how many run in a mode. `outcomes` add up to `architectures`.

    `eligible` are those that the run planned in that mode and whose question is usable.
    """

    mode: str
    architectures: int
    eligible: int
    passed: int
    right: int
    outcomes: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """Coverage in one dtype. `known` are all text-generation architectures, `unnamed` models of none that is told."""

    dtype: str
    asked: int
    known: int
    unnamed: int
    shares: Sequence[Share]
    architectures: Sequence[Covered]


def coverage(store: Store, joined: Joined, dtype: str, most: int = MOST) -> Coverage:
    """Coverage of the `most` most downloaded text-generation architectures in all modes."""
    representatives, downloads, models, unnamed = _ranked(joined)
    ranked = sorted(representatives, key=lambda name: (-downloads[name], -models[name], name))
    rows = _rows(store, joined, dtype, [representatives[name] for name in ranked[:most]])
    found = [
        _covered(joined, dtype, rows, rank, name, representatives[name], models[name], downloads[name])
        for rank, name in enumerate(ranked[:most], 1)
    ]
    shares = [_share(mode, found) for mode in MODES]
    return Coverage(
        dtype=dtype, asked=most, known=len(ranked), unnamed=unnamed, shares=shares, architectures=found
    )  # fmt: skip


def _ranked(joined: Joined) -> tuple[dict[str, int], Counter[str], Counter[str], int]:
    """Of each architecture its representative, downloads and models; and how many models tell none."""
    table = joined.table
    of_stand = table.stand[table.text]
    models = np.bincount(of_stand, minlength=len(table.stands)).tolist()
    sums = np.zeros(len(table.stands), np.int64)
    np.add.at(sums, of_stand, table.downloads[table.text])
    downloads, entries, best, unnamed = Counter[str](), Counter[str](), dict[str, int](), 0
    for place in sorted(
        np.unique(of_stand).tolist(), key=lambda at: (-int(sums[at]), -models[at], table.stands[at].name)
    ):
        name = table.stands[place].architecture
        if not name:
            unnamed += models[place]
            continue
        best.setdefault(name, place)
        downloads[name] += int(sums[place])
        entries[name] += models[place]
    return best, downloads, entries, unnamed


def _rows(store: Store, joined: Joined, dtype: str, stands: Sequence[int]) -> dict[int, OutcomeRow]:
    numbers = {joined.number(Way(mode, dtype), each) for mode in MODES for each in stands} - {None}
    found = rows_of(store, joined.run, sorted(each for each in numbers if each is not None))
    return {each.number: each for each in found}


def _covered(
    joined: Joined, dtype: str, rows: Mapping[int, OutcomeRow], rank: int, name: str, stand: int, models: int,
    downloads: int,
) -> Covered:  # fmt: skip
    stands = joined.table.stands[stand]
    modes = {mode: _ended(joined, Way(mode, dtype), rows, stand) for mode in MODES}
    return Covered(
        rank=rank, architecture=name, family=stands.family, models=models, downloads=downloads,
        signature="" if stands.outcome else stands.name, modes=modes,
    )  # fmt: skip


def _ended(joined: Joined, way: Way, rows: Mapping[int, OutcomeRow], stand: int) -> Ended:
    status = joined.status.get(way, joined.refused())
    word, number, told = word_of(int(status[stand])), joined.number(way, stand), joined.table.stands[stand]
    row = rows.get(number) if number is not None else None
    if row is None or told.reason:
        lacks = told.reason or (told.rule if told.outcome else f"this run did not plan it in mode {way.mode}")
        return Ended(
            outcome=word, number=number, stage="", rule=told.rule, message=told.reason, fallback_ops=(), lacks=lacks
        )  # fmt: skip
    return Ended(
        outcome=word, number=number, stage=row.stage, rule=row.rule, message=row.message,
        fallback_ops=row.fallback_ops, lacks=_lacks(row),
    )  # fmt: skip


def _lacks(row: OutcomeRow) -> str:
    """What stands between a model and a pass, empty for one that passed."""
    if row.outcome is Outcome.PASS:
        return ""
    if row.outcome is Outcome.FALLBACK:
        return f"ran on the CPU: {', '.join(row.fallback_ops)}"
    if row.outcome is Outcome.NOT_RUN:
        return "it was planned, but the run ended first"
    told = row.message or row.cause or row.code or row.outcome.word
    return f"at {row.stage}: {told}" if row.stage else told


def _share(mode: str, found: Sequence[Covered]) -> Share:
    outcomes = Counter(each.modes[mode].outcome for each in found)
    passed = outcomes[Outcome.PASS.word]
    return Share(
        mode=mode, architectures=len(found), eligible=len(found) - sum(outcomes[each] for each in _OUT), passed=passed,
        right=passed + outcomes[Outcome.FALLBACK.word], outcomes=dict(outcomes.most_common()),
    )  # fmt: skip


def lacking(made: Coverage) -> list[tuple[Covered, tuple[str, ...], Ended]]:
    """What each architecture lacks, with the modes in which it lacks that; what was not planned says nothing."""
    found = []
    for each in made.architectures:
        alike: dict[tuple[str, str], list[str]] = {}
        for mode, ended in each.modes.items():
            if ended.outcome not in (Outcome.PASS.word, NOT_PLANNED):
                alike.setdefault((ended.outcome, ended.lacks), []).append(mode)
        found += [(each, tuple(modes), each.modes[modes[0]]) for modes in alike.values()]
    return found
