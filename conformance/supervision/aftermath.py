"""After a child has ended: which test is to blame, what goes back to the queue, whether the core is still of use."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from conformance.engines import Exit
from conformance.errors import StoreError
from conformance.outcomes import Attempt
from conformance.plan import PlannedTest
from conformance.supervision import deaths
from conformance.supervision.jobs import ChildExit
from conformance.supervision.ledger import DIED, Ledger
from conformance.supervision.shards import Batch, Queue
from conformance.supervision.slots import Kill, Slot, Suspect
from conformance.supervision.watch import Limits, OpenTest, Overdue, Watch

MOST_PASSED: Final = 3
"""Children that may end without starting any of their tests before these are given an outcome."""
MOST_LOST: Final = 4
"""Fork servers that may die while a test is open, the last time alone, before it is blamed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Remains:
    """All that is known of a child that ended."""

    batch: Batch
    watch: Watch
    end: Exit
    kill: Kill | None
    log: str
    now: float

    @property
    def open(self) -> OpenTest | None:
        """The test it died in; a key that it was not given is nobody's."""
        found = self.watch.open
        return found if found and any(test.key == found.key for test in self.batch.tests) else None

    @property
    def rest(self) -> list[PlannedTest]:
        """The tests that it neither ended nor died in."""
        died_in = self.open.key if self.open else ""
        return [test for test in self.batch.tests if test.key not in self.watch.ended and test.key != died_in]


@dataclass(frozen=True, kw_only=True, slots=True)
class Aftermath:
    """Judges ended children. Every path either ends a test, counts towards a bound, or gives a core up."""

    queue: Queue
    ledger: Ledger
    limits: Limits
    _lost: Counter[str] = field(default_factory=Counter)
    _passed: Counter[str] = field(default_factory=Counter)

    def settle(self, slot: Slot, end: Exit, now: float) -> None:
        """Deal with the child on a slot that has ended; StoreError when it could not write its journal."""
        assert slot.child is not None
        assert slot.batch is not None
        assert slot.watch is not None
        log = slot.child.log_tail(deaths.LONGEST_LOG)
        left = Remains(batch=slot.batch, watch=slot.watch, end=end, kill=slot.kill, log=log, now=now)
        if slot.asked_to_share:
            self.queue.learn(left.rest, left.watch.pace(now))
        slot.clear()
        if end.status == ChildExit.DISK:
            raise StoreError("a journal could not be written: is the disk full? make room, then go on with --resume")
        if end.lost:
            self._lost_with_server(slot, left)
        elif not left.watch.ready:
            self._unusable(slot, left)
        else:
            self._judge(slot, left)
        self._retry_spoiled(slot, left)

    def _judge(self, slot: Slot, left: Remains) -> None:
        open_test, kill = left.open, left.kill
        if open_test is not None and kill is None:
            self._suspect(slot, left, open_test, self._crash(left, open_test))
        elif open_test is not None and kill is not None and kill.why and kill.key == open_test.key:
            attempt = deaths.timeout(open_test, kill.why, self.limits, left.log, left.now)
            self._suspect(slot, left, open_test, attempt)
        elif open_test is not None:
            self._return(left.batch, [self.ledger.tests[open_test.key]])
        elif not left.watch.ended and (kill is None or kill.why is Overdue.IDLE):
            self._pass_over(left)
            return
        self._return(left.batch, left.rest)

    def _crash(self, left: Remains, test: OpenTest) -> Attempt:
        if left.end.status == ChildExit.BROKEN:
            return deaths.left_suite(test, left.log, left.now)
        return deaths.crash(test, left.end, left.log, left.now, alone=self.ledger.is_suspect(test.key))

    def _suspect(self, slot: Slot, left: Remains, test: OpenTest, attempt: Attempt) -> None:
        """Hold the attempt until the device has been asked for its health."""
        slot.suspect = Suspect(
            test=self.ledger.tests[test.key], number=test.number, attempt=replace(attempt, alone=left.batch.alone),
            confirm=attempt.rule == DIED and not left.end.lost,
        )  # fmt: skip

    def _unusable(self, slot: Slot, left: Remains) -> None:
        why = left.watch.trouble or f"a child {left.end.words} while it activated the device"
        held = slot.suspect
        slot.suspect = None
        slot.fail(why, left.now)
        if held is not None:
            self.ledger.close(held.test.key, held.number, deaths.spoiled(held.attempt, why))
            if self.ledger.may_try_again(held.test.key):
                self.queue.alone(held.test)
        self._return(left.batch, [test for test in left.rest if held is None or test is not held.test])

    def _lost_with_server(self, slot: Slot, left: Remains) -> None:
        """The fork server died, and its children with it: none is to blame unless it happens again."""
        held = slot.suspect.test if slot.suspect else None
        if (test := left.open) is not None:
            self._lost[test.key] += 1
            if left.batch.alone and self._lost[test.key] >= MOST_LOST:
                died = deaths.crash(test, left.end, left.log, left.now, alone=True)
                self._suspect(slot, left, test, died)
            else:
                self.queue.alone(self.ledger.tests[test.key])
        self._return(left.batch, [test for test in left.rest if test is not held])

    def _pass_over(self, left: Remains) -> None:
        """A child ended without starting any test: it was the suite's decision, or one test's doing."""
        in_order = left.watch.closed and left.end.status == ChildExit.FINE
        if not in_order and len(left.rest) > 1:
            self.queue.halve(left.rest)
            return
        for test in left.rest:
            self._passed[test.key] += 1
            if self._passed[test.key] < MOST_PASSED:
                self._return(left.batch, [test])
            else:
                attempt = deaths.passed_over(left.end, left.log, MOST_PASSED)
                self.ledger.close(test.key, self.ledger.number(test.key) + 1, attempt)

    def _return(self, batch: Batch, tests: Iterable[PlannedTest]) -> None:
        if not batch.alone:
            self.queue.give_back(tests)
            return
        for test in tests:
            self.queue.alone(test)

    def _retry_spoiled(self, slot: Slot, left: Remains) -> None:
        """The first test that was lost may have made the device sick, so it is run again by itself, at the end."""
        spoiled = [test for test in left.batch.tests if test.key in left.watch.lost_to_machine]
        if not spoiled:
            return
        slot.spoil(left.watch.ended[spoiled[0].key].m or "tests are lost to the machine", left.now)
        if self.ledger.may_try_again(spoiled[0].key):
            self.queue.later(spoiled[0])
        self.queue.give_back(spoiled[1:])
