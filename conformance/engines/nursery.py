"""The fork server: imports what a suite needs once, then forks a child a job. Runs as a process of its own.

It holds one socket. When that closes, the supervisor is gone: every child is killed and the server ends.
"""

import contextlib
import gc
import os
import selectors
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from conformance.engines.frames import Ended, Event, Frames, Ready, Refused, Signal, Start, Started, request_decoder
from conformance.engines.frames import frame as framed
from conformance.supervision import worker


class Nursery:
    """Children by job id and the socket to the supervisor."""

    def __init__(self, connection: socket.socket) -> None:
        self._pid = os.getpid()
        self._socket = connection
        self._frames = Frames(connection)
        self._ids: dict[int, int] = {}
        self._woken, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def serve(self) -> None:
        """Fork and reap until the supervisor hangs up."""
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._say(Ready())
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while not self._frames.ended:
                for key, _ in selector.select():
                    self._obey() if key.fileobj is self._socket else self._reap()
        for pid in self._ids:
            _kill_group(pid)

    def _obey(self) -> None:
        for body in self._frames.read():
            match request_decoder.decode(body):
                case Start(id=number, job=job, modules=modules):
                    _warm(modules)
                    self._fork(number, bytes(job))
                case Signal(id=number, number=sent):
                    self._signal(number, sent)

    def _fork(self, number: int, job: bytes) -> None:
        pid = os.fork()
        if pid == 0:
            self._become_child(job)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self._ids[pid] = number
        self._say(Started(number, pid))

    def _become_child(self, job: bytes) -> None:
        status = 70
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._socket.close()
            os.close(self._woken)
            os.close(self._waker)
            status = worker.main(job, self._pid)
        finally:
            # Whatever the job did to the interpreter, a child never returns into the server's loop.
            with contextlib.suppress(BaseException):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def _signal(self, number: int, sent: int) -> None:
        for pid, known in self._ids.items():
            if known != number:
                continue
            if sent == signal.SIGKILL:
                _kill_group(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sent)

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 4096)
        while self._ids:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return
            # Until it is reaped nobody else can have its number: what a dead test left running goes with it.
            _kill_group(ended.si_pid)
            _, status = os.waitpid(ended.si_pid, 0)
            if (number := self._ids.pop(ended.si_pid, None)) is not None:
                self._say(Ended(number, status))

    def _say(self, event: Event) -> None:
        with contextlib.suppress(ConnectionError):
            self._socket.sendall(framed(event))


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def main(arguments: list[str]) -> int:
    """`python -m conformance.engines.nursery FD MODULE…`: serve on the inherited socket FD."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = socket.socket(fileno=int(arguments[0]))
    connection.set_inheritable(False)
    try:
        for name in arguments[1:]:
            import_module(name)
    except Exception as error:
        connection.sendall(framed(Refused(f"{type(error).__name__}: {error}")))
        raise
    _share()
    Nursery(connection).serve()
    return 0


def _warm(modules: Sequence[str]) -> None:
    """Import what only some children need; one that cannot be imported is left to them, who can say for which test."""
    missing = [name for name in modules if name not in sys.modules]
    for name in missing:
        try:
            import_module(name)
        except Exception:
            traceback.print_exc()
    if missing:
        _share()


def _share() -> None:
    """What was imported is never written to again: children go on sharing its pages."""
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
