"""Engines: where children run. One file an engine; the supervisor knows this protocol alone."""

import signal
from dataclasses import dataclass
from typing import Protocol

from conformance.journal import Record
from conformance.supervision.jobs import ChildExit, Job


@dataclass(frozen=True, kw_only=True, slots=True)
class Exit:
    """How a child ended: its status, or the signal that killed it, or lost together with what had started it."""

    status: int = 0
    signal: int = 0
    lost: bool = False

    @property
    def words(self) -> str:
        """`was killed by SIGSEGV`, `exited with status 1`."""
        if self.lost:
            return "was lost with the fork server"
        if self.signal:
            return f"was killed by {signal_name(self.signal)}"
        return f"exited with status {self.status}"


def signal_name(number: int) -> str:
    """`SIGSEGV`; a signal without a name keeps its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Child(Protocol):
    """A process at work on one job."""

    def exit(self) -> Exit | None:
        """How it ended; None while it lives. Once it is not None, `records` has nothing more to come."""

    def records(self) -> list[Record]:
        """What it appended to its journal since the last call."""

    def log_tail(self, longest: int) -> str:
        """The end of what it printed, at most `longest` characters."""

    def trim_log(self, longest: int) -> None:
        """Empty a log that has grown past `longest` bytes: a test may print without end."""

    def signal(self, number: int) -> None:
        """Send a signal to the process, SIGKILL to its whole process group; nothing when it has ended."""


class Engine(Protocol):
    """Starts children and waits for them. One thread uses it."""

    def launch(self, job: Job) -> Child:
        """Start a child. Raises IncompleteError when children cannot be started any more."""

    def wait(self, seconds: float) -> None:
        """Sleep until a child may have ended, at most so long."""

    def close(self) -> None:
        """Kill what still runs and let go of everything."""


__all__ = ["Child", "ChildExit", "Engine", "Exit", "signal_name"]
