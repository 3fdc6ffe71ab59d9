"""What the command `conformance` starts: nothing heavy is imported before an interrupt can be answered."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType

from conformance.errors import ExitCode


def main() -> None:
    """Import the command line and run it. Ctrl-C outside of every command ends with one line and code 130."""
    with leaving_at_once():
        from conformance.cli import main as command
    try:
        command()
    except KeyboardInterrupt:
        sys.exit(_told())


@contextlib.contextmanager
def leaving_at_once() -> Iterator[None]:
    """Ctrl-C while modules are imported ends the process on the spot: there is nothing to put in order yet.

    An exception could be lost there: Python prints and drops one that is raised in a callback of its import system.
    Whoever started us with the signal ignored, or handles it already, is left alone.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(_told())


def _told() -> int:
    code = ExitCode.INTERRUPTED
    # Past sys.stderr, which may be closed, or half replaced.
    with contextlib.suppress(OSError):
        os.write(2, f"conformance: interrupted (exit {int(code)}: {code.name.lower()})\n".encode())
    return int(code)
