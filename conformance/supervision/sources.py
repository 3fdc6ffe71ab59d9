"""The program's own sources while a run goes on: children load some of them late, and would mix two programs."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from conformance.errors import IncompleteError

PAUSE: Final = 1.0
"""Seconds between two looks at files that nothing speaks against."""

Stamp = tuple[int, int]
"""Nanoseconds of the last change, bytes."""


@dataclass(kw_only=True, slots=True)
class Sources:
    """Files as they were when this was made."""

    _known: dict[Path, tuple[Stamp, bytes]]
    _looked: float = field(default=0.0)

    @classmethod
    def of(cls, paths: Iterable[Path]) -> "Sources":
        """The files as they are now."""
        return cls(_known={path: (_stamp(path), _digest(path)) for path in paths})

    def require_unchanged(self, now: float, *, at_once: bool = False) -> None:
        """Look again, at most once a second unless it must be known `at_once`.

        Raises IncompleteError when a file has other contents: tests that run from here on would ask other questions.
        """
        if now - self._looked < PAUSE and not at_once:
            return
        self._looked = now
        for path, (stamp, digest) in self._known.items():
            if (new := _stamp(path)) == stamp:
                continue
            if _digest(path) != digest:
                raise IncompleteError(
                    f"the program or its tests were changed while the run went on: {path} is not what it was; put it "
                    "back and go on with --resume, or start a new run"
                )
            self._known[path] = (new, digest)


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return (0, -1)
    return (found.st_mtime_ns, found.st_size)


def _digest(path: Path) -> bytes:
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=16).digest()
    except OSError:
        return b""
