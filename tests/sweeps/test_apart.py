"""Processes of their own: what they end with is what the waiting process tells."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from conformance.engines import ChildExit
from sweeps import apart


def test_work_is_done_in_another_process(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    assert apart.forked(lambda: (told.write_text(str(os.getpid())), None)[1]) == 0
    assert int(told.read_text()) != os.getpid()


def test_an_exception_is_a_broken_process_and_never_returns(tmp_path: Path) -> None:
    def work() -> None:
        raise KeyboardInterrupt

    assert apart.forked(work) == ChildExit.BROKEN


def test_a_status_that_is_asked_for_is_given_back() -> None:
    assert apart.forked(lambda: sys.exit(ChildExit.UNUSABLE)) == ChildExit.UNUSABLE


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1])
def test_what_kills_the_process_kills_the_one_that_waits(number: signal.Signals) -> None:
    waiting = os.fork()
    if waiting == 0:
        apart.forked(lambda: os.kill(os.getpid(), number))
        os._exit(0)
    _, status = os.waitpid(waiting, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == number


def test_nothing_is_left_when_the_one_that_waits_is_killed(tmp_path: Path) -> None:
    told = tmp_path / "pid"

    def work() -> None:
        told.write_text(str(os.getpid()))
        time.sleep(60)

    waiting = os.fork()
    if waiting == 0:
        apart.forked(work)
        os._exit(0)
    while not told.exists() or not told.read_text():
        time.sleep(0.01)
    os.kill(waiting, signal.SIGKILL)
    os.waitpid(waiting, 0)
    until = time.monotonic() + 5
    while Path(f"/proc/{told.read_text()}/exe").exists() and _alive(int(told.read_text())):
        assert time.monotonic() < until
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
