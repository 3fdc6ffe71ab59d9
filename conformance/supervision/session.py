"""One supervisor's work on one run folder: from the first test, or where the last session stopped, to the end."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.engines import Engine
from conformance.errors import StoreError, UsageError
from conformance.journal import Journal
from conformance.plan import PlannedTest, RunHeader
from conformance.progress import Progress
from conformance.record import RunFolder, read_attempts
from conformance.supervision import durations
from conformance.supervision.isolating import Isolate, Isolation
from conformance.supervision.jobs import Place
from conformance.supervision.leases import Lease, lock_file
from conformance.supervision.ledger import Ledger
from conformance.supervision.shards import Queue
from conformance.supervision.slots import Slot
from conformance.supervision.sources import Sources
from conformance.supervision.supervise import Supervisor, Supplies
from conformance.supervision.watch import Limits

_SESSION = re.compile(r"(\d+)-supervisor\.jsonl")


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """What a run needs to go on. `home` holds the durations of earlier runs."""

    folder: RunFolder
    header: RunHeader
    tests: Sequence[PlannedTest]
    engine: Engine
    leases: Sequence[Lease]
    limits: Limits
    progress: Progress
    stopped: Callable[[], bool]
    home: Path
    sources: Sources
    isolate: Isolate = Isolate.NONE
    sample: int | None = None

    def run(self) -> bool:
        """Run what is unfinished; False when it was asked to stop first.

        Raises IncompleteError when no core is usable any more, StoreError when the disk refuses.
        """
        number = _next_session(self.folder)
        try:
            with Journal(self.folder.journals / f"{number:03}-supervisor.jsonl") as own:
                return self._supervisor(number, own).run()
        except OSError as error:
            raise StoreError(f"{self.folder.path} cannot be written: {error.strerror}; go on with --resume") from error

    def _supervisor(self, number: int, own: Journal) -> Supervisor:
        ledger = Ledger(self.tests, read_attempts(self.folder), own)
        known = durations.load(durations.path_of(self.home, self.header.target))
        queue = Queue(ledger.unfinished(), known, len(self.leases), ledger.is_suspect)
        slots = [Slot(lease=lease) for lease in self.leases]
        self.progress.begin(ledger, queue, slots)
        supplies = Supplies(
            engine=self.engine, queue=queue, ledger=ledger, limits=self.limits, place=self._places(number),
            tick=self.progress.tick, stopped=self.stopped, sources=self.sources, sample=self.sample,
            isolation=Isolation(ledger, self.isolate),
        )  # fmt: skip
        return Supervisor(supplies=supplies, slots=slots)

    def _places(self, session: int) -> Callable[[str, Slot], tuple[Place, str]]:
        started = 0

        def place(suite: str, slot: Slot) -> tuple[Place, str]:
            nonlocal started
            started += 1
            stem = f"{session:03}-{started:05}"
            where = Place(
                suite=suite, target=self.header.target, release=self.header.release,
                variables=slot.lease.variables(reset=slot.tries > 0), log=str(self.folder.logs / f"{stem}.log"),
            )  # fmt: skip
            return where, str(self.folder.journals / f"{stem}.jsonl")

        return place


def _next_session(folder: RunFolder) -> int:
    found = (_SESSION.fullmatch(path.name) for path in folder.journals.iterdir())
    return 1 + max((int(match[1]) for match in found if match), default=0)


def hold(folder: RunFolder) -> int:
    """Lock a run's folder for this process. Raises UsageError while another supervisor has it."""
    lock = lock_file(folder.path / "lock")
    if lock is None:
        raise UsageError(f"run {folder.path.name} is still being run by another process: wait for it, or stop that one")
    return lock


def new_run_id(target: str) -> str:
    """`20261130-190501-sim-3f2a`: readable, sorted by time, and unique on one machine."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + f"-{target}-{time.time_ns() // 1000 % 65536:04x}"
