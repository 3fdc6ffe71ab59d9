"""A run's models counted by what they share; every total is the number of entries of the catalogue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from conformance import outcomes
from conformance.outcomes import FLAKY, Outcome
from sweeps.reports.joined import NOT_PLANNED, Joined, Way, word_of

_CODES = 64


class By(StrEnum):
    """What models are counted by: each by itself, its class, or the library's module that the class is in."""

    MODEL = "model"
    ARCHITECTURE = "architecture"
    FAMILY = "family"


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """The entries with one label in one way to run them. `outcomes`: word, or `not_planned`, to entries; they add up.

    `signatures` is how many stand for them, refused entries left out.
    """

    label: str
    entries: int
    downloads: int
    signatures: int
    outcomes: Mapping[str, int]

    @property
    def eligible(self) -> int:
        """Entries that were planned, less those whose question is unusable or that the machine lost."""
        return outcomes.eligible(self._planned)

    @property
    def passed(self) -> int:
        """Entries whose signature passed on the device."""
        return self._planned.get(Outcome.PASS, 0)

    @property
    def right(self) -> int:
        """Entries whose signature was right, on the device or by falling back."""
        return outcomes.right(self._planned)

    @property
    def _planned(self) -> dict[Outcome, int]:
        return {Outcome.from_word(word): number for word, number in self.outcomes.items() if word != NOT_PLANNED}


def total(joined: Joined, way: Way) -> Count:
    """The whole catalogue."""
    return _counted(joined, way, np.zeros(len(joined.table.stands), np.int64), [""])[0]


def grouped(joined: Joined, way: Way, by: By) -> list[Count]:
    """The catalogue by architecture or family, most downloaded first; the label is empty where nobody tells it."""
    names = [getattr(each, by.value) for each in joined.table.stands]
    labels = sorted(set(names))
    places = {label: place for place, label in enumerate(labels)}
    found = _counted(joined, way, np.array([places[each] for each in names], np.int64), labels)
    return sorted(
        (each for each in found if each.entries), key=lambda each: (-each.downloads, -each.entries, each.label)
    )


def _counted(joined: Joined, way: Way, of_stand: NDArray[np.int64], labels: Sequence[str]) -> list[Count]:
    table, size = joined.table, len(labels)
    codes = joined.status.get(way, joined.refused()) & ~np.uint8(FLAKY)
    of_entry = of_stand[table.stand]
    counts = np.bincount(of_entry * _CODES + codes[table.stand], minlength=size * _CODES).reshape(size, _CODES)
    downloads = np.zeros(size, np.int64)
    np.add.at(downloads, of_entry, table.downloads)
    used = np.unique(table.stand)
    signed = used[[not table.stands[each].outcome for each in used.tolist()]]
    signatures = np.bincount(of_stand[signed], minlength=size)
    return [
        Count(
            label=label, entries=int(counts[place].sum()), downloads=int(downloads[place]),
            signatures=int(signatures[place]),
            outcomes={word_of(int(code)): int(counts[place][code]) for code in np.flatnonzero(counts[place])},
        )
        for place, label in enumerate(labels)
    ]  # fmt: skip
