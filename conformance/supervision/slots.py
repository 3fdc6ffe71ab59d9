"""One lease and the child on it: what it runs, what it is suspected of, and whether the core is still of use."""

from dataclasses import dataclass

from conformance.engines import Child
from conformance.outcomes import Attempt
from conformance.plan import PlannedTest
from conformance.supervision.leases import Lease
from conformance.supervision.shards import Batch
from conformance.supervision.watch import Overdue, Watch

MOST_TRIES = 4
"""Children in a row that may find the device unusable before its core is given up."""
MOST_SPOILED = 12
"""Children in a row that may lose tests to the machine, though the probe is right, before the core is given up."""
FIRST_REST = 0.5
"""Seconds of rest after the first such child; each further rest is twice as long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspect:
    """A test whose process died or was killed; the device's health decides what its attempt is."""

    test: PlannedTest
    number: int
    attempt: Attempt
    confirm: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Kill:
    """Why a child is being stopped, in which test, and from when on by force."""

    why: Overdue | None
    key: str
    force_at: float


@dataclass(slots=True)
class Slot:
    """The state of one lease. Times are of the monotonic clock."""

    lease: Lease
    child: Child | None = None
    batch: Batch | None = None
    watch: Watch | None = None
    kill: Kill | None = None
    asked_to_share: bool = False
    suspect: Suspect | None = None
    tries: int = 0
    spoiled: int = 0
    probe: bool = False
    rest_until: float = 0.0
    lost: str = ""

    @property
    def busy(self) -> bool:
        """Whether something must still happen here before the run can end."""
        return not self.lost and (self.child is not None or self.suspect is not None)

    def fail(self, why: str, now: float) -> None:
        """A child could not use the device: rest, and after too many give the core up."""
        self.tries += 1
        self.probe = True
        self.rest_until = now + FIRST_REST * 2 ** (self.tries - 1)
        if self.tries >= MOST_TRIES:
            self.lost = why

    def spoil(self, why: str, now: float) -> None:
        """A test was lost to the machine: rest, then ask the device for its health."""
        self.spoiled += 1
        self.probe = True
        self.rest_until = now + FIRST_REST
        if self.spoiled >= MOST_SPOILED:
            self.lost = why

    def clear(self) -> None:
        """The child has ended and was dealt with."""
        self.child = self.batch = self.watch = self.kill = None
        self.asked_to_share = False
