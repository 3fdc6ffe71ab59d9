"""Models of a run one by one: a page of those that are asked for, and names near one that is not there."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from conformance.outcomes import FLAKY, Outcome
from conformance.store import ModelTable
from sweeps.reports.joined import NOT_PLANNED, Joined, Way, word_of

_NEAR: Final = 5
_MOST_COMPARED: Final = 2_000
_LONGEST_COMPARED: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """Which models are wanted; what is empty does not restrict. `text` is part of the id, whatever the case."""

    text: str = ""
    outcomes: frozenset[str] = frozenset()
    architecture: str = ""
    family: str = ""
    signature: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """One entry of a catalogue. `place` is its place there, `signature` empty for a refused one, `number` its test."""

    place: int
    id: str
    downloads: int
    architecture: str
    family: str
    signature: str
    outcome: str
    rule: str
    number: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """Some of the models that were asked for, in the catalogue's order. `after` is where the next page starts."""

    rows: Sequence[Listed]
    total: int
    after: int | None


def listing(joined: Joined, way: Way, asked: Asked, *, after: int = -1, limit: int = 100) -> Listing:
    """The models that are asked for, page by page; `total` counts all of them."""
    found = np.flatnonzero(_wanted(joined, way, asked))
    page = found[np.searchsorted(found, after, side="right") :][: limit + 1].tolist()
    words = joined.words(way)
    rows = [_listed(joined, way, words, place) for place in page[:limit]]
    return Listing(rows=rows, total=len(found), after=page[limit - 1] if len(page) > limit else None)


def _listed(joined: Joined, way: Way, words: Sequence[str], place: int) -> Listed:
    table = joined.table
    at = int(table.stand[place])
    stand = table.stands[at]
    return Listed(
        place=place, id=table.ids[place], downloads=int(table.downloads[place]), architecture=stand.architecture,
        family=stand.family, signature="" if stand.outcome else stand.name, outcome=words[at], rule=stand.rule,
        number=joined.number(way, at),
    )  # fmt: skip


def _wanted(joined: Joined, way: Way, asked: Asked) -> NDArray[np.bool_]:
    table = joined.table
    stands = np.array([_fits(each, asked) for each in table.stands], np.bool_)
    if asked.outcomes:
        status = joined.status.get(way, joined.refused()) & ~np.uint8(FLAKY)
        stands &= np.isin(status, [_code(each) for each in asked.outcomes])
    wanted = stands[table.stand] if len(stands) else np.zeros(0, np.bool_)
    if asked.text:
        text = asked.text.casefold()
        wanted = wanted & np.fromiter((text in each for each in table.folded), np.bool_, len(table.folded))
    return wanted


def _fits(stand: object, asked: Asked) -> bool:
    pairs = (("architecture", asked.architecture), ("family", asked.family), ("name", asked.signature))
    return all(not wanted or getattr(stand, name) == wanted for name, wanted in pairs)


def _code(word: str) -> int:
    return 0 if word == NOT_PLANNED else int(Outcome.from_word(word))


def places_of(table: ModelTable, model: str) -> list[int]:
    """Where an id is in a catalogue: nowhere, once, or more often."""
    return [place for place, each in enumerate(table.ids) if each == model]


def near(table: ModelTable, model: str) -> list[str]:
    """Ids like one that is not there, the likest first."""
    wanted = model.casefold()[:_LONGEST_COMPARED]
    name = wanted.rpartition("/")[2]
    same = [place for place, each in enumerate(table.folded) if each.rpartition("/")[2] == name or each == wanted]
    parts = {each for each in re.split(r"[^a-z0-9]+", wanted) if len(each) > 2}
    likely = same or sorted(_likely(table.folded, parts), key=lambda place: abs(len(table.folded[place]) - len(wanted)))
    ratios = {place: _ratio(wanted, table.folded[place]) for place in likely[:_MOST_COMPARED]}
    best = sorted(ratios, key=lambda place: (-ratios[place], place))
    return list(dict.fromkeys(table.ids[place] for place in best if ratios[place] > 0.5 or same))[:_NEAR]


def _likely(folded: Iterable[str], parts: set[str]) -> list[int]:
    return [place for place, each in enumerate(folded) if any(part in each for part in parts)]


def _ratio(wanted: str, found: str) -> float:
    return difflib.SequenceMatcher(None, wanted, found[:_LONGEST_COMPARED], autojunk=False).ratio()


def words_of(joined: Joined, stand: int) -> dict[Way, str]:
    """What a stand came to in every way that the run planned."""
    return {way: word_of(int(joined.status[way][stand])) for way in joined.ways}
