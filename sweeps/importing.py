"""Writing a catalogue from what a user has: entries as they are read, the unreadable counted and named."""

import gzip
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import msgspec

from conformance.errors import UsageError
from conformance.replacing import replacing
from sweeps.catalogue import Entry, Unreadable
from sweeps.floats import encoded

NAMED: Final = 20
"""Rows that could not be read and are kept with their reason; the others are counted."""
_BETWEEN: Final = 5_000
"""Entries from one word about progress to the next."""


@dataclass(kw_only=True, slots=True)
class Imported:
    """What an import came to: entries written, ids among them that were there before, rows that are none."""

    entries: int = 0
    repeated: int = 0
    unreadable: int = 0
    named: list[Unreadable] = field(default_factory=list)

    def refuse(self, row: Unreadable) -> None:
        """Count a row that is no entry."""
        self.unreadable += 1
        if len(self.named) < NAMED:
            self.named.append(row)


def write(rows: Iterable[Entry | Unreadable], out: Path, say: Callable[[int], None]) -> Imported:
    """Write every entry to `out`, which is whole or as it was. `say` is told of numbers of rows now and then.

    Raises UsageError for another ending than .jsonl or .jsonl.gz or when there is no entry, StoreError when the disk
    refuses.
    """
    if not out.name.endswith((".jsonl", ".jsonl.gz")):
        raise UsageError(f"--out {str(out)!r} is no catalogue's name: end it in .jsonl or .jsonl.gz")
    done, seen, encoder = Imported(), Counter[str](), msgspec.json.Encoder()
    with _output(out) as file:
        for number, row in enumerate(rows, 1):
            line = _line(row, encoder)
            if isinstance(line, Unreadable):
                done.refuse(line)
            else:
                file.write(line)
                done.entries += 1
                seen[row.id] += 1
            if number % _BETWEEN == 0:
                say(number)
        if not done.entries:
            told = f": {done.named[0].id}: {done.named[0].reason}" if done.named else ""
            raise UsageError(f"there is no entry to write, of {done.unreadable:,} rows{told}")
    done.repeated = sum(number - 1 for number in seen.values())
    return done


def _line(row: Entry | Unreadable, encoder: "msgspec.json.Encoder") -> bytes | Unreadable:
    if isinstance(row, Unreadable):
        return row
    try:
        config = None if row.config is None else cast("dict[str, Any]", encoded(row.config))
        return encoder.encode(msgspec.structs.replace(row, config=config)) + b"\n"
    except (UnicodeEncodeError, RecursionError, msgspec.EncodeError, OverflowError) as error:
        return Unreadable(id=row.id, reason=f"it cannot be written: {' '.join(str(error).split())[:120]}")


@contextmanager
def _output(out: Path) -> Iterator[BinaryIO]:
    """The file that `out` is to be, packed where its name says so."""
    with replacing(out) as plain:
        if not out.name.endswith(".gz"):
            yield plain
            return
        # No time and no name in it: the same entries are the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0) as packed:
            yield cast("BinaryIO", packed)
