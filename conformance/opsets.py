"""The sets of ops that tests took, in a journal: names are written once and numbered, sets once and named by a hash."""

import re
from base64 import urlsafe_b64encode
from contextlib import suppress
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from conformance.outcomes import Reached

LONGEST_NAME: Final = 200
"""Characters of a tracker's name that are kept."""


class Names(msgspec.Struct, frozen=True, kw_only=True, tag_field="e", tag="opnames"):
    """Names that are new in this journal, numbered from `first` on."""

    first: int
    names: tuple[str, ...]


class Reach(msgspec.Struct, frozen=True, kw_only=True, tag_field="e", tag="opset", omit_defaults=True):
    """A set of ops by the numbers of their names. `u` is a hash over the names, the same in every journal."""

    u: str
    ran: tuple[int, ...] = ()
    fell: tuple[int, ...] = ()


class Numbering:
    """What one journal has written so far."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._known: dict[Reached, str] = {}

    def take(self, reached: Reached) -> tuple[str, list[Names | Reach]]:
        """The name of a set, and the records to write before it is used."""
        if (known := self._known.get(reached)) is not None:
            return known, []
        ran, fell = (sorted(map(_cut, names)) for names in (reached.executed, reached.fallback))
        digest = blake2b(msgspec.json.encode((ran, fell)), digest_size=9).digest()
        u = self._known[reached] = urlsafe_b64encode(digest).decode()
        fresh = [name for name in dict.fromkeys((*ran, *fell)) if name not in self._numbers]
        names = Names(first=len(self._numbers), names=tuple(fresh))
        self._numbers.update(zip(fresh, range(names.first, names.first + len(fresh)), strict=True))
        ran_numbers, fell_numbers = (tuple(map(self._numbers.__getitem__, each)) for each in (ran, fell))
        reach = Reach(u=u, ran=ran_numbers, fell=fell_numbers)
        return u, [names, reach] if fresh else [reach]


def _cut(name: str) -> str:
    return name[:LONGEST_NAME].encode("utf-8", "backslashreplace").decode()


class Taken(NamedTuple):
    """A set read back: names of the ops that ran on the device, and of those that ran on the CPU instead, sorted."""

    ran: tuple[str, ...]
    fell: tuple[str, ...]


class Sets:
    """The sets of one journal, while its records are read in order."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self.found: dict[str, Taken] = {}
        """By `u`. A set whose names are lost is left out: its tests do not tell what they took."""

    def take(self, record: Names | Reach) -> None:
        """Take one record in."""
        if isinstance(record, Names):
            self._names.update(enumerate(record.names, record.first))
            return
        name = self._names.__getitem__
        with suppress(KeyError):
            self.found[record.u] = Taken(tuple(map(name, record.ran)), tuple(map(name, record.fell)))


def lines(data: bytes) -> list[bytes]:
    """The lines of a journal that tell of names and sets, in order."""
    first = [data.partition(b"\n")[0]] if data.startswith(_OURS) else []
    return first + _LINES.findall(data)


_OURS: Final = b'{"e":"op'
"""How the lines of both records begin, and no other."""
# Few among many: searching is three times as fast as taking every line in hand.
_LINES: Final = re.compile(rb"\n(" + re.escape(_OURS) + rb"[^\n]*)")
