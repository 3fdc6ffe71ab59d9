"""Processes of their own, one after the other, for tests in which a second process is to find what the first one left.

A child forks them before it starts the device: afterwards it could not, and a real core has one owner at a time.
"""

import contextlib
import faulthandler
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType

from conformance.engines import ChildExit
from conformance.supervision.worker import die_with_parent


def forked(work: Callable[[], None]) -> int:
    """Do the work in a forked process and wait for it: 0 when it is done, else the status that it ended with.

    What kills the process kills this one too, by the same signal: the supervisor then sees what befell the test.
    """
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(work, parent)
    with _stacks_of(pid):
        _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        _die_alike(os.WTERMSIG(status))
    return os.WEXITSTATUS(status)


def _become(work: Callable[[], None], parent: int) -> None:
    status = int(ChildExit.BROKEN)
    try:
        die_with_parent(parent)
        work()
        status = 0
    except SystemExit as asked:
        status = asked.code if isinstance(asked.code, int) else status
    except BaseException:
        traceback.print_exc()
    finally:
        # Whatever the work did to the interpreter, it never returns into the caller's frames.
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


@contextlib.contextmanager
def _stacks_of(pid: int) -> Iterator[None]:
    """While waiting, pass on the supervisor's request for stacks: those of the waiting process tell nothing."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    faulthandler.unregister(signal.SIGUSR2)
    before = signal.signal(signal.SIGUSR2, pass_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR2, before)
        faulthandler.register(signal.SIGUSR2, file=2, chain=False)


def _die_alike(number: int) -> None:
    """End by a signal, without a stack of this process in the log: the one that died has left its own."""
    faulthandler.disable()
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
