"""The supervisor: a single-threaded loop over leases that gives out batches, follows journals and judges deaths."""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from conformance.engines import Engine
from conformance.errors import IncompleteError
from conformance.journal import End
from conformance.outcomes import Outcome
from conformance.supervision import sharing
from conformance.supervision.aftermath import Aftermath
from conformance.supervision.isolating import Isolation
from conformance.supervision.jobs import ChildExit, Place
from conformance.supervision.jobs import Shard as ShardJob
from conformance.supervision.ledger import Ledger
from conformance.supervision.shards import Batch, Queue
from conformance.supervision.slots import Kill, Slot
from conformance.supervision.sources import Sources
from conformance.supervision.watch import Limits, Overdue, Watch

POLL: Final = 0.1
"""Seconds between two looks at the journals; a death is noticed at once."""
DUMP_TIME: Final = 0.3
"""Seconds that a child over its time has to write its stacks."""
STOP_TIME: Final = 3.0
"""Seconds that a child has to end when it is asked to."""
LONGEST_LOG_FILE: Final = 16 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Supplies:
    """What the loop works with. `place` and `journal` name the files of a new child; `tick` is called each round."""

    engine: Engine
    queue: Queue
    ledger: Ledger
    limits: Limits
    place: Callable[[str, Slot], tuple[Place, str]]
    tick: Callable[[float], None]
    stopped: Callable[[], bool]
    sources: Sources
    isolation: Isolation
    sample: int | None = None


@dataclass(slots=True)
class Supervisor:
    """Runs a queue to its end on some leases."""

    supplies: Supplies
    slots: list[Slot]
    _aftermath: Aftermath = field(init=False)
    _trimmed: float = 0.0

    def __post_init__(self) -> None:
        given = self.supplies
        self._aftermath = Aftermath(queue=given.queue, ledger=given.ledger, limits=given.limits)

    def run(self) -> bool:
        """Work until every test has its outcome; False when it was asked to stop first.

        Raises IncompleteError when no lease is of use any more or the program changed, StoreError when a journal
        cannot be written.
        """
        while not self.supplies.stopped():
            now = time.monotonic()
            self.supplies.sources.require_unchanged(now)
            for slot in self.slots:
                self._step(slot, now)
            sharing.ask(self.slots, self.supplies.queue, now)
            self._trim_logs(now)
            self.supplies.tick(now)
            if not len(self.supplies.queue) and not any(slot.busy for slot in self.slots) and not self._isolate():
                return True
            self._require_a_lease()
            self.supplies.engine.wait(POLL)
        self.stop()
        return False

    def _isolate(self) -> bool:
        """Have the tests that are due run alone; False when none is."""
        found = self.supplies.isolation.due()
        for test in found:
            self.supplies.queue.alone(test)
        return bool(found)

    def stop(self) -> None:
        """Ask every child to close its journal and end; kill those that do not."""
        working = [slot.child for slot in self.slots if slot.child is not None]
        for child in working:
            child.signal(signal.SIGTERM)
        until = time.monotonic() + STOP_TIME
        while any(child.exit() is None for child in working) and time.monotonic() < until:
            self.supplies.engine.wait(POLL)

    def _trim_logs(self, now: float) -> None:
        if now - self._trimmed < 2:
            return
        self._trimmed = now
        for slot in self.slots:
            if slot.child is not None:
                slot.child.trim_log(LONGEST_LOG_FILE)

    def _require_a_lease(self) -> None:
        if all(slot.lost for slot in self.slots):
            left = len(self.supplies.queue)
            raise IncompleteError(
                f"no usable core is left, {left} tests were not run: core {self.slots[-1].lease.core} was given up"
                f" because {self.slots[-1].lost}"
            )

    def _step(self, slot: Slot, now: float) -> None:
        if slot.lost:
            return
        if slot.child is None or slot.watch is None:
            if now >= slot.rest_until:
                self._start(slot, now)
            return
        end = slot.child.exit()
        self._read(slot, slot.watch, now)
        if end is not None:
            # A child that stumbled over a change of the program itself is no test's doing.
            self.supplies.sources.require_unchanged(now, at_once=end.status != ChildExit.FINE)
            self._aftermath.settle(slot, end, now)
        elif slot.kill is not None:
            if now >= slot.kill.force_at:
                slot.child.signal(signal.SIGKILL)
        elif (over := slot.watch.overdue(now)) is not None:
            self._kill_for_time(slot, slot.watch, over, now)

    def _start(self, slot: Slot, now: float) -> None:
        batch = self._next(slot)
        if batch is None:
            return
        ledger = self.supplies.ledger
        numbers = {test.key: ledger.number(test.key) for test in batch.tests if ledger.number(test.key)}
        if slot.suspect is not None:
            numbers[slot.suspect.test.key] = slot.suspect.number
        place, journal = self.supplies.place(batch.suite, slot)
        probe = slot.suspect is not None or slot.probe
        job = ShardJob(
            place=place,
            journal=journal,
            tests=batch.tests,
            numbers=numbers,
            probe=probe,
            sample=self.supplies.sample,
            alone=batch.alone,
        )
        slot.batch, slot.watch = batch, Watch(limits=self.supplies.limits, since=now)
        slot.child = self.supplies.engine.launch(job)

    def _next(self, slot: Slot) -> Batch | None:
        suspect = slot.suspect
        if suspect is not None and suspect.confirm:
            return Batch(suite=suspect.test.id.suite, tests=(suspect.test,), alone=True)
        batch = self.supplies.queue.take()
        if batch is None and suspect is not None:
            return Batch(suite=suspect.test.id.suite, tests=())
        return batch

    def _read(self, slot: Slot, watch: Watch, now: float) -> None:
        assert slot.child is not None
        records = slot.child.records()
        watch.take(records, now)
        if watch.ready:
            self._well(slot)
        for record in records:
            if isinstance(record, End):
                self.supplies.ledger.take(record.t, record.n, record.o, alone=record.a)
                slot.spoiled = slot.spoiled if record.o is Outcome.INFRA else 0
        if watch.lost_to_machine and slot.kill is None:
            slot.child.signal(signal.SIGTERM)
            slot.kill = Kill(why=None, key="", force_at=now + STOP_TIME)

    def _well(self, slot: Slot) -> None:
        """The device is usable: what a suspect ended as was its own doing."""
        slot.tries, slot.probe = 0, False
        if suspect := slot.suspect:
            self.supplies.ledger.close(suspect.test.key, suspect.number, suspect.attempt)
            slot.suspect = None

    def _kill_for_time(self, slot: Slot, watch: Watch, over: Overdue, now: float) -> None:
        assert slot.child is not None
        slot.child.signal(signal.SIGUSR2)
        slot.kill = Kill(why=over, key=watch.open.key if watch.open else "", force_at=now + DUMP_TIME)
