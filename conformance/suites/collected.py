"""Test files collected once each, every file in a process of its own: one that dies costs that file alone."""

import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import msgspec

from conformance import plan
from conformance.engines import signal_name
from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.plan import Decision, PlannedTest
from conformance.pytest_hooks import identity
from conformance.suites.plan_cache import PlanCache

MOST_AT_ONCE: Final = 8
"""Processes side by side, as far as there are cores; each may hold a gigabyte (measured with test_ops.py)."""
PATIENCE: Final = 540.0
"""Seconds that one file may take: test_ops.py, the largest, takes 10 alone on a core (measured)."""
COLLECTION: Final = "collection"
"""Rule of files that could not be collected."""
TOLD: Final = "planning: "
"""What a line about how far planning is begins with, in the log of the process that plans."""
_CUT_SHORT: Final = (2, 3)
"""pytest's statuses for an interrupt and an error within: a file that calls sys.exit() while it is imported, too."""
_TELLING: Final = ("ERROR:", "!!!", "E ", "Exit:", "conformance:", "SystemExit", "UnicodeEncodeError")
"""What lines of a log begin with that say what went wrong."""
_USAGE: Final = 4
"""pytest's status for a wrong command line, a broken conftest included."""
_PATTERNS: Final = ("test_*.py", "*_test.py")
_NOT_ENTERED: Final = frozenset({"__pycache__", "node_modules", "venv", "build", "dist"})


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """A test file and what of it was asked for: the file itself, or nodes in it."""

    path: Path
    arguments: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether all of it was asked for."""
        return self.arguments == (str(self.path),)


def files_of(arguments: Iterable[str]) -> list[File]:
    """The files behind paths, folders and `file::Class::test` nodes, each once, in order."""
    found: dict[Path, dict[str, None]] = {}
    for each in arguments:
        path = Path(each.partition("::")[0])
        for file in _below(path) if path.is_dir() else [path]:
            found.setdefault(file, {})[each if file is path else str(file)] = None
    return [
        File(path=path, arguments=(str(path),) if str(path) in asked else tuple(asked)) for path, asked in found.items()
    ]


def _below(folder: Path) -> list[Path]:
    paths = {each for pattern in _PATTERNS for each in folder.rglob(pattern) if each.is_file()}
    return sorted(each for each in paths if not _left_out(each.relative_to(folder).parts))


def _left_out(parts: Sequence[str]) -> bool:
    return any(part.startswith(".") or part in _NOT_ENTERED for part in parts)


class Process(Protocol):
    """A process that collects one file."""

    def poll(self) -> int | None:
        """Its status, negative for a signal; None while it works."""

    def kill(self) -> None:
        """End it."""


@dataclass(slots=True)
class Forked:
    """A process forked from this one, which has PyTorch's harness already."""

    pid: int
    status: int | None = None

    def poll(self) -> int | None:
        """See `Process`."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status

    def kill(self) -> None:
        """See `Process`."""
        os.kill(self.pid, 9)


@dataclass(slots=True)
class Collector:
    """Collects files for a target's release; `folder` takes plans and logs."""

    target: str
    release: str
    folder: Path
    cache: PlanCache | None

    def collect(self, files: Sequence[File]) -> list[PlannedTest]:
        """The tests of the files, in their order. Raises UsageError for what pytest calls wrong usage."""
        known = {each: self.cache.load(each.path) if self.cache and each.whole else None for each in files}
        done = {each: tests for each, tests in known.items() if tests is not None}
        waiting = deque(sorted(files - done.keys(), key=lambda each: -_size(each)))
        working: dict[File, Work] = {}
        began = Progress.begin(files, done)
        try:
            while waiting or working:
                while waiting and len(working) < at_once():
                    file = waiting.popleft()
                    working[file] = self._start(file, len(done) + len(working))
                for file in [each for each, work in working.items() if work.over()]:
                    done[file] = self._planned(file, working.pop(file))
                    began.tell(done)
                time.sleep(0.02)
        finally:
            for work in working.values():
                work.process.kill()
        return [test for each in files for test in done[each]]

    def _start(self, file: File, number: int) -> "Work":
        stem = self.folder / f"{number}-{file.path.stem}"
        arguments = (self.target, self.release, f"{stem}.plan", *file.arguments)
        log = Path(f"{stem}.log")
        forks = "conformance.pytest_hooks.harness" in sys.modules
        process = _fork(arguments, log) if forks else _spawn(arguments, log)
        return Work(process=process, plan=Path(f"{stem}.plan"), log=log, until=time.monotonic() + PATIENCE)

    def _planned(self, file: File, work: "Work") -> list[PlannedTest]:
        code, words = work.process.poll(), _last_word(work.log)
        if work.plan.exists() and code not in _CUT_SHORT:
            tests = plan.read(work.plan)
            lost = any(each.decided is not None and each.decided.rule == COLLECTION for each in tests)
            if self.cache is not None and file.whole and work.loaded.exists() and not lost:
                self.cache.store(file.path, tests, msgspec.json.decode(work.loaded.read_bytes(), type=list[str]))
            return tests
        if code == _USAGE:
            raise UsageError(f"pytest could not collect {file.path}: {words}")
        end = f"was not done after {PATIENCE:g} s" if work.late else f"ended {_end(code or 0)}"
        return [_lost(file.path, f"the process that collected it {end}" + (f": {words}" if words else ""))]


@dataclass(slots=True)
class Work:
    """A process at work on a file, where its plan will be, and when it has taken too long."""

    process: Process
    plan: Path
    log: Path
    until: float
    late: bool = False

    @property
    def loaded(self) -> Path:
        """Where the list of loaded files will be."""
        return Path(f"{self.plan}.loaded")

    def over(self) -> bool:
        """Whether it has ended; one that takes too long is ended."""
        if not self.late and time.monotonic() > self.until:
            self.late = True
            self.process.kill()
        return self.process.poll() is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Lines about how far planning is, for whoever follows this process' output."""

    files: int
    size: int
    known: int
    since: float

    @classmethod
    def begin(cls, files: Sequence[File], done: "dict[File, list[PlannedTest]]") -> "Progress":
        """`done` are those that need no collecting."""
        size = sum(_size(each) for each in files)
        found = cls(files=len(files), size=size, known=sum(map(_size, done)), since=time.monotonic())
        if len(files) > len(done):
            found.tell(done)
        return found

    def tell(self, done: "dict[File, list[PlannedTest]]") -> None:
        """Say how far it is; the estimate is by the files' sizes."""
        spent, size = time.monotonic() - self.since, sum(map(_size, done))
        left = spent * (self.size - size) / (size - self.known) if size > self.known else 0.0
        about = f", about {left:.0f} s left" if left >= 1 else ""
        tests = sum(map(len, done.values()))
        print(f"{TOLD}{len(done)} of {self.files} files, {tests:,} tests{about}", flush=True)


def at_once() -> int:
    """How many files are collected side by side."""
    return min(MOST_AT_ONCE, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)


def collect(arguments: Iterable[str], target: str, release: str, cache: PlanCache | None) -> list[PlannedTest]:
    """The tests behind paths, folders and nodes. Raises UsageError for what pytest calls wrong usage."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        return Collector(target=target, release=release, folder=Path(folder), cache=cache).collect(files_of(arguments))


def _size(file: File) -> int:
    try:
        return max(1, file.path.stat().st_size)
    except OSError:
        return 1


def _fork(arguments: Sequence[str], log: Path) -> Process:
    from conformance.pytest_hooks import collecting

    parent = os.getpid()
    pid = os.fork()
    if pid:
        return Forked(pid)
    status = 70
    try:
        from conformance.supervision import worker

        worker.die_with_parent(parent)
        _redirect(log)
        status = collecting.collect(*arguments)
    finally:
        # Whatever the file did, a forked child never returns into its parent's work.
        collecting.leave(status)
    raise AssertionError


def _redirect(log: Path) -> None:
    written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.close(written)


def _spawn(arguments: Sequence[str], log: Path) -> Process:
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "conformance.pytest_hooks.collecting", *arguments],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip


def _lost(path: Path, why: str) -> PlannedTest:
    decided = Decision(outcome=Outcome.ERROR, rule=COLLECTION, reason=why[:1_000])
    return PlannedTest(
        id=identity.module_id(path.absolute()), definition="", decided=decided, where=str(path.absolute())
    )


def _last_word(log: Path) -> str:
    """The line that says what went wrong."""
    text = log.read_bytes()[-20_000:].decode("utf-8", "replace") if log.exists() else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line.removeprefix("INTERNALERROR> ") for line in lines]
    errors = [line for line in lines if line.startswith(_TELLING)]
    return (errors[0] if errors else lines[-1] if lines else "").strip("! ")


def _end(code: int) -> str:
    return f"by {signal_name(-code)}" if code < 0 else f"with status {code}"
