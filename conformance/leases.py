"""Leases on cores: one process tree at a time holds a core, whatever other runs this machine has."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

VISIBLE_CORES: Final = "NEURON_RT_VISIBLE_CORES"
"""The Neuron runtime's variable for the cores that a process may take (AWS Neuron SDK, runtime configuration)."""
RESET_CORES: Final = "NEURON_RT_RESET_CORES"
"""Set to 1, the runtime resets its cores when it starts (same source)."""

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


def acquire(folder: Path, wanted: int) -> list[Lease]:
    """The lowest `wanted` cores that no other run holds. `folder` is shared by all runs of a target."""
    folder.mkdir(parents=True, exist_ok=True)
    held: list[Lease] = []
    for core in range(MOST_CORES):
        if len(held) == wanted:
            break
        if (lock := lock_file(folder / f"core-{core}.lock")) is not None:
            held.append(Lease(core=core, lock=lock))
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
