"""One architecture of a run: what stands for its models, and what each of these came to in every way."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sweeps.reports.joined import Joined, Way, word_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a stand came to in one way; `number` is its test's, None where there is none."""

    mode: str
    dtype: str
    outcome: str
    number: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What stands for some models of an architecture: a signature, or the rule and reason by which they were refused.

    `example` is the most downloaded of them.
    """

    signature: str
    rule: str
    why: str
    models: int
    downloads: int
    example: str
    results: Sequence[Result]


def standings(joined: Joined, architecture: str) -> list[Standing]:
    """Everything that stands for models of an architecture, most downloaded first; nothing for one that is unknown."""
    table = joined.table
    places = [place for place, each in enumerate(table.stands) if each.architecture == architecture]
    found = [_standing(joined, place) for place in places]
    return sorted(
        (each for each in found if each.models), key=lambda each: (-each.downloads, -each.models, each.signature)
    )


def _standing(joined: Joined, place: int) -> Standing:
    table, stand = joined.table, joined.table.stands[place]
    entries = np.flatnonzero(table.stand == place)
    most = int(entries[np.argmax(table.downloads[entries])]) if len(entries) else -1
    return Standing(
        signature="" if stand.outcome else stand.name, rule=stand.rule, why=stand.reason, models=len(entries),
        downloads=int(table.downloads[entries].sum()), example=table.ids[most] if most >= 0 else "",
        results=[_result(joined, way, place) for way in joined.ways],
    )  # fmt: skip


def _result(joined: Joined, way: Way, place: int) -> Result:
    return Result(
        mode=way.mode,
        dtype=way.dtype,
        outcome=word_of(int(joined.status[way][place])),
        number=joined.number(way, place),
    )
