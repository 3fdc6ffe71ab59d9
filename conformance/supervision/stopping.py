"""Ctrl-C, SIGTERM and SIGHUP ask a run to stop; a second Ctrl-C does not wait."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stop:
    """Whether the run was asked to stop."""

    def __init__(self) -> None:
        self.asked = False
        self.hasty = False
        """Whether a second Ctrl-C asked for no more waiting."""

    def __call__(self) -> bool:
        return self.asked

    def ask(self, number: int, _frame: FrameType | None) -> None:
        """Signal handler."""
        if self.asked and number == signal.SIGINT:
            self.hasty = True
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def listening() -> Iterator[Stop]:
    """Turn the three signals into a wish to stop."""
    stop = Stop()
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
