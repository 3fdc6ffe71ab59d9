"""A run's folder on disk, read back: plan and journals joined into one outcome a planned test."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from conformance import journal, opsets, plan, settlement
from conformance.errors import UsageError
from conformance.outcomes import Attempt, Outcome, RanOn, Stage, order_dependent
from conformance.plan import PlannedTest, RunHeader


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFolder:
    """Where the files of one run are."""

    path: Path

    @property
    def header(self) -> Path:
        """Which run this is."""
        return self.path / "run.json"

    @property
    def plan(self) -> Path:
        """The planned tests, one a line."""
        return self.path / "plan.jsonl"

    @property
    def overloads(self) -> Path:
        """What the device said of the aten overloads before the first test."""
        return self.path / "overloads.json"

    @property
    def journals(self) -> Path:
        """Folder with one journal a process."""
        return self.path / "journal"

    @property
    def logs(self) -> Path:
        """Folder with what each process printed."""
        return self.path / "logs"

    def create(self, header: RunHeader, tests: Iterable[PlannedTest]) -> None:
        """Write plan and header; the header last, so that a folder with one is whole."""
        self.journals.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        plan.write(self.plan, tests)
        partial = self.header.with_suffix(".partial")
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(header)) + b"\n")
        partial.replace(self.header)

    def read_header(self) -> RunHeader:
        """The header; UsageError when the folder is not a run's."""
        try:
            return msgspec.json.decode(self.header.read_bytes(), type=RunHeader)
        except OSError as error:
            raise UsageError(f"{self.path} is not the folder of a run: {error.filename}: {error.strerror}") from error
        except msgspec.DecodeError as error:
            raise UsageError(f"{self.path} is not the folder of a run: {self.header}: {error}") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """One planned test with all its attempts and the outcome that stands for them."""

    test: PlannedTest
    attempts: tuple[Attempt, ...]
    outcome: Outcome
    flaky: bool

    @property
    def order_dependent(self) -> bool:
        """Whether the test ends otherwise alone than among others."""
        return self.flaky and order_dependent((each.outcome, each.alone) for each in self.attempts)

    @property
    def shown(self) -> Attempt:
        """The attempt that the outcome comes from; a bare one for a test without attempts."""
        return settlement.settled(self.test, self.attempts).shown


@dataclass(slots=True)
class Attempts:
    """What journals tell of each test: records of ended attempts by number, and the tests left open."""

    ended: dict[str, dict[int, journal.End]] = field(default_factory=dict)
    open: dict[str, tuple[int, Stage]] = field(default_factory=dict)
    reach: dict[str, opsets.Taken] = field(default_factory=dict)

    def add(self, records: Iterable[journal.Record]) -> None:
        """Take the records of one journal, in order. A test that is open when its process closes was interrupted."""
        here: set[str] = set()
        sets = opsets.Sets()
        for record in records:
            match record:
                case journal.Begin(t=key, n=number):
                    self.open[key] = (number, Stage.SETUP)
                    here.add(key)
                case journal.Staged(t=key, s=stage) if key in self.open:
                    self.open[key] = (self.open[key][0], stage)
                case journal.End(t=key, n=number):
                    self.open.pop(key, None)
                    self.ended.setdefault(key, {})[number] = record
                case opsets.Names() | opsets.Reach():
                    sets.take(record)
                case journal.Session(state="closed"):
                    for key in here:
                        self.open.pop(key, None)
                case _:
                    pass
        self.reach |= sets.found

    def drop_ended(self) -> None:
        """Forget open tests whose attempt another journal ended (the supervisor's closes what a dead child left)."""
        for key, (number, _) in list(self.open.items()):
            if number in self.ended.get(key, {}):
                del self.open[key]


def read_attempts(folder: RunFolder) -> Attempts:
    """Read every journal of a run."""
    attempts = Attempts()
    for path in sorted(folder.journals.glob("*.jsonl")):
        attempts.add(journal.read(path))
    attempts.drop_ended()
    return attempts


def read_results(folder: RunFolder) -> list[Result]:
    """Every planned test of a run with its outcome, in plan order. Records of tests not planned are ignored."""
    header, attempts = folder.read_header(), read_attempts(folder)
    if not header.supervised:
        close_open(attempts)
    return [result_of(test, attempts) for test in plan.read(folder.plan)]


def close_open(attempts: Attempts) -> None:
    """Charge tests that a dead process left open: it died in them, and nobody ran them again alone."""
    for key, (number, stage) in attempts.open.items():
        died = Attempt(
            outcome=Outcome.CRASH, rule="open-begin", ran_on=RanOn.UNKNOWN, stage=stage,
            message="the process ended while this test was open; it was not run again alone",
            cause="process ended",
        )  # fmt: skip
        attempts.ended.setdefault(key, {})[number] = journal.end_record(key, number, died)
    attempts.open.clear()


def result_of(test: PlannedTest, attempts: Attempts) -> Result:
    """Join one planned test with its attempts."""
    made: tuple[Attempt, ...]
    if test.decided:
        made = (
            Attempt(
                outcome=test.decided.outcome,
                rule=test.decided.rule,
                ran_on=RanOn.NONE,
                message=test.decided.reason,
                source=test.decided.source,
            ),
        )
    else:
        numbered = attempts.ended.get(test.key, {})
        made = tuple(numbered[number].attempt() for number in sorted(numbered))
    found = settlement.settled(test, made)
    return Result(test=test, attempts=made, outcome=found.outcome, flaky=found.flaky)


def counts(results: Iterable[Result]) -> Counter[Outcome]:
    """How many planned tests ended as each outcome."""
    return Counter(each.outcome for each in results)
