"""Leases on cores: one process tree at a time holds a core, whatever other runs this machine has."""

import fcntl
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.errors import IncompleteError, UsageError

VISIBLE_CORES: Final = "NEURON_RT_VISIBLE_CORES"
"""The Neuron runtime's variable for the cores that a process may take (AWS Neuron SDK, runtime configuration)."""
RESET_CORES: Final = "NEURON_RT_RESET_CORES"
"""Set to 1, the runtime resets its cores when it starts (same source)."""

NUM_CORES: Final = "NEURON_RT_NUM_CORES"
"""How many cores a process takes, from 0 on (same source)."""

MOST_CORES: Final = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """A core that is ours until the lock's file descriptor is closed, by `release` or by our death."""

    core: int
    lock: int

    def variables(self, *, reset: bool) -> dict[str, str]:
        """What a child on this core must see; `reset` has a sick core reset first."""
        return {VISIBLE_CORES: str(self.core), **({RESET_CORES: "1"} if reset else {})}

    def release(self) -> None:
        """Give the core back."""
        os.close(self.lock)


def allowed(environ: Mapping[str, str]) -> Sequence[int]:
    """The cores that the user's own variables leave us. Raises UsageError for a list that cannot be read."""
    listed, number = environ.get(VISIBLE_CORES, ""), environ.get(NUM_CORES, "")
    try:
        if listed:
            return [core for part in listed.split(",") for core in _range(part)]
        return range(int(number) or MOST_CORES) if number else range(MOST_CORES)
    except ValueError:
        name, value = (VISIBLE_CORES, listed) if listed else (NUM_CORES, number)
        raise UsageError(f"{name} is {value!r}: write a number, or for visible cores a list like 0-3,6") from None


def _range(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)


def acquire(folder: Path, wanted: int, cores: Iterable[int]) -> list[Lease]:
    """At most `wanted` of these cores, those that no other run holds. `folder` is shared by all runs of a target.

    Raises IncompleteError when other runs hold them all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    held: list[Lease] = []
    for core in cores:
        if len(held) == wanted:
            break
        if (lock := lock_file(folder / f"core-{core}.lock")) is not None:
            held.append(Lease(core=core, lock=lock))
    if not held:
        raise IncompleteError("every core is leased to another run: wait for it, or give this one other cores")
    return held


def lock_file(path: Path) -> int | None:
    """Take an exclusive lock that ends with this process; None when another process has it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file
