"""How far a run has come: a bar on a terminal, else at most one line a second; always on stderr."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TextIO

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from conformance.outcomes import Outcome
from conformance.supervision.ledger import Ledger
from conformance.supervision.shards import Queue
from conformance.supervision.slots import Slot


class Progress(Protocol):
    """Shows a run while it goes on."""

    def begin(self, ledger: Ledger, queue: Queue, slots: Sequence[Slot]) -> None:
        """Know what to show."""

    def tick(self, now: float) -> None:
        """Show it again, if it is time."""

    def close(self) -> None:
        """Show it for the last time."""


@dataclass(slots=True)
class Meter:
    """What can be said of a run's progress: done, counts by outcome, seconds left."""

    ledger: Ledger
    queue: Queue
    slots: Sequence[Slot]
    started: float = field(default_factory=time.monotonic)
    whole: float = 0.0

    def __post_init__(self) -> None:
        self.whole = self.queue.seconds

    def _running(self) -> list[str]:
        batches = [(slot.batch, slot.watch) for slot in self.slots if slot.batch is not None and slot.watch is not None]
        waiting = [test.key for batch, watch in batches for test in batch.tests if test.key not in watch.ended]
        return waiting + [slot.suspect.test.key for slot in self.slots if slot.suspect is not None and not slot.batch]

    @property
    def done(self) -> int:
        """Tests that nothing more will be done about."""
        return len(self.ledger.tests) - len(self.queue) - len(self._running())

    def estimate(self, now: float) -> float | None:
        """Seconds left, from the expected work and the speed so far; None before anything can be said.

        What was learned of tests in this run is seconds as they are; of the others only the relation is known.
        """
        running = self._running()
        paced = self.queue.paced + sum(self.queue.seconds_of(each) for each in running if self.queue.is_learned(each))
        left = self.queue.seconds + sum(map(self.queue.seconds_of, running)) - paced
        whole = self.whole - self.queue.guessed
        spent = whole - left
        if spent <= 0.02 * whole:
            return None
        return paced / max(1, len(self.slots)) + (now - self.started) * left / spent

    def line(self, now: float) -> str:
        """`1200/6121 tests  pass 1100 · fallback 100  about 3 min left`."""
        seconds = self.estimate(now)
        left = f"  about {duration(seconds)} left" if seconds is not None and seconds >= 1 else ""
        return f"{self.done}/{len(self.ledger.tests)} tests  {words(self.ledger.counts)}{left}"


def words(counts: Counter[Outcome]) -> str:
    """Outcomes that occur, in the vocabulary's order."""
    shown = (each for each in Outcome if each is not Outcome.NOT_RUN and counts[each])
    return " · ".join(f"{each.word} {counts[each]}" for each in shown)


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `2 h 5 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _pause(elapsed: float) -> float:
    """Seconds between two lines: one at first, up to ten in a long run, whose log is to stay readable."""
    return min(10.0, max(1.0, elapsed / 20))


@dataclass(slots=True)
class Lines:
    """Progress without a terminal."""

    out: TextIO
    _meter: Meter | None = None
    _shown: float = 0.0
    _last: str = ""

    def begin(self, ledger: Ledger, queue: Queue, slots: Sequence[Slot]) -> None:
        """Know what to show."""
        self._meter = Meter(ledger, queue, slots)

    def tick(self, now: float) -> None:
        """Print a line when one is due and there is news."""
        if self._meter is None or now - self._shown < _pause(now - self._meter.started):
            return
        self._shown = now
        self._print(now)

    def _print(self, now: float) -> None:
        line = self._meter.line(now) if self._meter else ""
        if line != self._last:
            print(line, file=self.out, flush=True)
            self._last = line

    def close(self) -> None:
        """Print the last line."""
        self._print(time.monotonic())


@dataclass(slots=True)
class Bar:
    """Progress on a terminal."""

    console: Console
    _meter: Meter | None = None
    _live: Live | None = None
    _shown: float = 0.0

    def begin(self, ledger: Ledger, queue: Queue, slots: Sequence[Slot]) -> None:
        """Start the bar."""
        self._meter = Meter(ledger, queue, slots)
        self._live = Live(self._view(time.monotonic()), console=self.console, auto_refresh=False)
        self._live.start()

    def tick(self, now: float) -> None:
        """Draw again, five times a second at most."""
        if self._live is not None and now - self._shown >= 0.2:
            self._shown = now
            self._live.update(self._view(now), refresh=True)

    def _view(self, now: float) -> Table:
        assert self._meter is not None
        grid = Table.grid(padding=(0, 1))
        total = max(1, len(self._meter.ledger.tests))
        grid.add_row(ProgressBar(total=total, completed=self._meter.done, width=40))
        grid.add_row(self._meter.line(now))
        return grid

    def close(self) -> None:
        """Draw for the last time and leave the terminal in order."""
        if self._live is not None:
            self._live.update(self._view(time.monotonic()), refresh=True)
            self._live.stop()
            self._live = None


class Silent:
    """No progress, for a single test."""

    def begin(self, ledger: Ledger, queue: Queue, slots: Sequence[Slot]) -> None:
        """Nothing to know."""

    def tick(self, now: float) -> None:
        """Nothing to show."""

    def close(self) -> None:
        """Nothing to end."""


def choose(out: TextIO) -> Progress:
    """A bar where there is a terminal, else lines."""
    return Bar(Console(file=out)) if out.isatty() else Lines(out)
