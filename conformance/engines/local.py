"""Children on this machine, forked from one fork server a suite."""

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from conformance import suites
from conformance.engines import Child, Exit
from conformance.engines.frames import Ended, Frames, Ready, Refused, Signal, Start, Started, event_decoder, frame
from conformance.errors import IncompleteError
from conformance.journal import Follower, Record
from conformance.supervision.jobs import Job, Shard, encode

MOST_DEATHS = 8
"""Times that a fork server may die in a row without a child of it ending in good order."""

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class LocalChild:
    """A child of a fork server, as the engine sees it."""

    def __init__(self, server: "ForkServer", number: int, job: Job) -> None:
        self._server, self._number = server, number
        self._log = Path(job.place.log)
        self._follower = Follower(Path(job.journal)) if isinstance(job, Shard) else None
        self.pid = 0
        self.ended: Exit | None = None

    def exit(self) -> Exit | None:
        """How it ended; None while it lives."""
        return self.ended

    def records(self) -> list[Record]:
        """What it appended to its journal since the last call."""
        return self._follower.new() if self._follower else []

    def log_tail(self, longest: int) -> str:
        """The end of what it printed."""
        try:
            with self._log.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - longest))
                return file.read(longest).decode("utf-8", "replace")
        except OSError:
            return ""

    def trim_log(self, longest: int) -> None:
        """Empty a log that has grown past `longest` bytes."""
        with contextlib.suppress(OSError):
            if self._log.stat().st_size > longest:
                os.truncate(self._log, 0)

    def signal(self, number: int) -> None:
        """Send a signal; SIGKILL goes to its whole process group."""
        if self.ended is None:
            self._server.send(Signal(self._number, number))


class ForkServer:
    """A fork server's process and the socket to it. Dead servers are replaced by the engine, not revived."""

    def __init__(self, preload: Sequence[str], variables: Mapping[str, str], log: Path) -> None:
        self.socket, theirs = socket.socketpair()
        with theirs, log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "conformance.engines.nursery", str(theirs.fileno()), *preload],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=[theirs.fileno()],
                env=_environment(variables), start_new_session=True,
            )  # fmt: skip
        self._frames = Frames(self.socket)
        self._waiting: list[bytes] = []
        self._children: dict[int, LocalChild] = {}
        self.ready = self.alive = self.useful = False
        self.alive = True
        self.refused = ""

    def start(self, number: int, job: Job) -> LocalChild:
        """Have a child forked, now or as soon as the modules are imported."""
        child = self._children[number] = LocalChild(self, number, job)
        modules = suites.get(job.place.suite).warm(job.tests) if isinstance(job, Shard) else ()
        self.send(Start(number, msgspec.Raw(encode(job)), modules))
        return child

    def send(self, message: Start | Signal) -> None:
        """Send a message; one to a dead server goes nowhere, its children are lost."""
        if not self.ready:
            self._waiting.append(frame(message))
            return
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(frame(message))

    def hear(self) -> None:
        """Take in what the server says; at the end of the stream its children are lost."""
        for body in self._frames.read():
            match event_decoder.decode(body):
                case Ready():
                    self._begin()
                case Refused(why=why):
                    self.refused = why
                case Started(id=number, pid=pid) if number in self._children:
                    self._children[number].pid = pid
                case Ended(id=number, status=status) if number in self._children:
                    self._children.pop(number).ended = _exit_of(status)
                    self.useful = self.useful or os.WIFEXITED(status)
                case _:
                    pass
        if self._frames.ended and self.alive:
            self._mourn()

    def _begin(self) -> None:
        self.ready = True
        for each in self._waiting:
            with contextlib.suppress(ConnectionError):
                self.socket.sendall(each)
        self._waiting.clear()

    def _mourn(self) -> None:
        self.alive = False
        self._process.kill()
        self._process.wait()
        self.socket.close()
        for child in self._children.values():
            _sweep(child.pid)
            child.ended = Exit(lost=True)
        self._children.clear()

    def close(self) -> None:
        """Hang up: the server kills its children and ends; one that does not is killed."""
        if not self.alive:
            return
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        if self.ready:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
        self._mourn()


class LocalEngine:
    """Children on this machine. `variables` are set before torch is imported; `logs` takes the servers' output."""

    def __init__(self, *, variables: Mapping[str, str], logs: Path) -> None:
        self._variables, self._logs = variables, logs
        self._servers: dict[str, ForkServer] = {}
        self._deaths: dict[str, int] = {}
        self._selector = selectors.DefaultSelector()
        self._last = 0

    def launch(self, job: Job) -> Child:
        """Start a child. Raises IncompleteError when the fork server cannot be kept alive."""
        self._last += 1
        return self._server(job.place.suite).start(self._last, job)

    def _server(self, suite: str) -> ForkServer:
        known = self._servers.get(suite)
        if known is not None and known.alive:
            return known
        if known is not None:
            self._count_death(suite, known)
        log = self._logs / f"server-{suite}.log"
        server = self._servers[suite] = ForkServer(suites.get(suite).preload, self._variables, log)
        self._selector.register(server.socket, selectors.EVENT_READ, server)
        return server

    def _count_death(self, suite: str, dead: ForkServer) -> None:
        if dead.refused:
            raise IncompleteError(f"suite {suite!r} cannot be imported: {dead.refused}")
        self._deaths[suite] = 1 if dead.useful else self._deaths.get(suite, 0) + 1
        if self._deaths[suite] >= MOST_DEATHS:
            raise IncompleteError(
                f"the fork server of suite {suite!r} died {MOST_DEATHS} times in a row: see {self._logs}"
            )

    def wait(self, seconds: float) -> None:
        """Sleep until a server has something to say, at most so long."""
        if not self._selector.get_map():
            time.sleep(seconds)
        for key, _ in self._selector.select(seconds):
            server: ForkServer = key.data
            server.hear()
            if not server.alive:
                self._selector.unregister(key.fileobj)

    def close(self) -> None:
        """Kill what still runs."""
        for each in self._servers.values():
            each.close()
        self._selector.close()


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    # One thread: a fork copies only the thread that calls it, and every child has its own core.
    return {"PYTHONHASHSEED": "0", **os.environ, **dict.fromkeys(_THREADS, "1"), **variables}


def _exit_of(status: int) -> Exit:
    if os.WIFSIGNALED(status):
        return Exit(signal=os.WTERMSIG(status))
    return Exit(status=os.WEXITSTATUS(status))


def _sweep(pid: int) -> None:
    """Kill what a lost child left, and wait a moment so that its cores are free again."""
    if not pid:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    until = time.monotonic() + 2
    while _lives(pid) and time.monotonic() < until:
        time.sleep(0.01)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in "ZX"
