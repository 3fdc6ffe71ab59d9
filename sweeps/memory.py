"""A bound on the memory that one stage of a model may add to its process."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from conformance.errors import UsageError

VARIABLE: Final = "CONFORMANCE_STAGE_MEMORY"
DEFAULT: Final = 8.0
"""GiB: four times what the largest model that is built takes on both sides, gradients and optimizer included."""

_TEXTS: Final = ("can't allocate memory", "not enough memory", "cannot allocate memory", "bad_alloc")
"""How PyTorch's CPU allocator, the system and C++ say so."""


def allowed() -> float:
    """GiB that a stage may add; 0 for no bound. Raises UsageError for a variable that is no such number."""
    told = os.environ.get(VARIABLE, "")
    try:
        found = float(told) if told else DEFAULT
    except ValueError:
        found = -1.0
    if not 0 <= found < 1 << 20:
        raise UsageError(f"{VARIABLE} is {told!r}: give GiB that a stage may add, as 4 or 0.5, or 0 for no bound")
    return found


@contextmanager
def bounded() -> Iterator[None]:
    """Have the system refuse what goes beyond; where it cannot count a process's own memory there is no bound."""
    most, held = allowed(), _held()
    if not most or not held:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = held + int(most * (1 << 30))
    bound = wanted if before[1] == resource.RLIM_INFINITY else min(wanted, before[1])
    resource.setrlimit(resource.RLIMIT_DATA, (bound, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _held() -> int:
    """Bytes of a process's own memory, as RLIMIT_DATA counts them."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[5])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * resource.getpagesize()


def ran_out(error: BaseException | None) -> bool:
    """Whether an exception, or what caused it, says that there was no memory."""
    while error is not None:
        if isinstance(error, MemoryError) or any(each in str(error) for each in _TEXTS):
            return True
        error = error.__cause__
    return False
