"""What a child process does: become a child, activate the device, do one job."""

import contextlib
import ctypes
import errno
import faulthandler
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import msgspec

from conformance import plan, suites, targets
from conformance.errors import ConformanceError
from conformance.journal import Journal
from conformance.outcomes import Outcome
from conformance.suites import Bench, ForksItself, KeepsBeside, Unstarted
from conformance.supervision import jobs
from conformance.supervision.jobs import SHARE, Answer, ChildExit, Collect, Place, Shard, Survey
from conformance.targets import Device

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says when a file cannot grow."""


def main(raw: bytes, parent: int) -> int:
    """Do one job in a forked child; the status with which the process is to end. `parent` is the fork server's id."""
    job = jobs.decode.decode(raw)
    _become_child(job.place, parent)
    match job:
        case Collect():
            return _answered(job.answer, lambda: _collect(job))
        case Survey():
            return _answered(job.answer, lambda: _survey(job))
        case Shard():
            return _run(job)


def _become_child(place: Place, parent: int) -> None:
    with contextlib.suppress(PermissionError):
        os.setpgid(0, 0)
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _redirect(place.log)
    # A descriptor of its own, so that stacks reach the log whatever a test does to stderr.
    log = os.dup(2)
    faulthandler.enable(file=log)
    faulthandler.register(signal.SIGUSR2, file=log, chain=False)
    os.environ.update(place.variables)
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


def die_with_parent(parent: int) -> None:
    """Have the system kill this process when its parent dies; end at once when it is dead already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(ChildExit.STOPPED)


def _redirect(log: str) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.dup2(nothing, 0)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.close(nothing)
    os.close(written)


def _answered(path: str, work: Callable[[], Answer]) -> int:
    try:
        answer = work()
    except ConformanceError as error:
        answer = Answer(error=str(error), usage=True)
    except Exception as error:
        traceback.print_exc()
        answer = Answer(error=_sentence(error))
    partial = Path(path).with_suffix(".partial")
    partial.write_bytes(msgspec.json.encode(answer))
    partial.replace(path)
    return ChildExit.FINE


def _collect(job: Collect) -> Answer:
    suite, asked = suites.get(job.place.suite), (job.selection, job.place.target, job.place.release)
    keeps = suite if isinstance(suite, KeepsBeside) else None
    found = suite.collect(*asked) if keeps is None else keeps.collect_beside(*asked, Path(job.beside))
    plan.write(Path(job.plan), found)
    return Answer()


def _survey(job: Survey) -> Answer:
    device = targets.get(job.place.target).activate(job.place.release)
    facts, error = dict(device.environment()), _probe(device)
    # A suite without torch has no dispatcher to ask.
    if job.overloads and not error and "torch" in sys.modules:
        facts |= _ask_dispatcher(device, job)
    return Answer(error=error, environment=facts)


def _ask_dispatcher(device: Device, job: Survey) -> dict[str, str]:
    """Write the survey of the overloads. A torch that cannot be asked costs a run its inventory, and is told of."""
    try:
        from conformance.inventory import dispatcher

        found = msgspec.json.encode(dispatcher.survey(device, job.ops))
    except Exception as error:
        traceback.print_exc()
        return {"inventory": f"not taken: {_sentence(error)}"}
    partial = Path(job.overloads).with_suffix(".partial")
    partial.write_bytes(found)
    partial.replace(job.overloads)
    return {}


def _run(job: Shard) -> int:
    try:
        leaving = Leaving()
        with Journal(Path(job.journal), ended=leaving.ended, alone=job.alone) as journal:
            signal.signal(SHARE, leaving.ask)
            return _run_journalled(job, journal)
    except OSError as error:
        traceback.print_exc()
        return ChildExit.DISK if error.errno in DISK_FULL else ChildExit.BROKEN
    except BaseException:
        traceback.print_exc()
        return ChildExit.BROKEN


class Leaving:
    """Whether this process is to end after a test, its other tests left to whoever comes next."""

    def __init__(self) -> None:
        self._asked = False

    def ask(self, _number: int, _frame: FrameType | None) -> None:
        """Signal handler: another worker has nothing to do."""
        self._asked = True

    def ended(self, outcome: Outcome) -> None:
        """A test ended. After one that was lost to the machine the next would be too: the device is to be looked at."""
        if self._asked or outcome is Outcome.INFRA:
            os._exit(ChildExit.STOPPED)


def _run_journalled(job: Shard, journal: Journal) -> int:
    _stop_in_good_order(journal)
    suite = suites.get(job.place.suite)
    first = suite.apart(job.tests) if isinstance(suite, ForksItself) else ()
    if isinstance(suite, ForksItself) and first:
        unstarted = Unstarted(journal=journal, numbers=job.numbers, start=lambda: _started(job, journal))
        if status := suite.run_apart(first, unstarted):
            return status
    done = {test.key for test in first}
    rest = [test for test in job.tests if test.key not in done]
    # A job without tests asks for the device's health.
    if rest or not job.tests:
        try:
            bench = _started(job, journal)
        except SystemExit:
            return ChildExit.UNUSABLE
        suite.run(rest, bench)
    return ChildExit.FINE


def _started(job: Shard, journal: Journal) -> Bench:
    """Start the device. Raises SystemExit, the trouble noted in the journal, when it cannot be used."""
    try:
        device = targets.get(job.place.target).activate(job.place.release)
        sick = _probe(device) if job.probe else ""
    except Exception as error:
        traceback.print_exc()
        sick = _sentence(error)
    if sick:
        journal.note("unusable", sick)
        raise SystemExit(ChildExit.UNUSABLE)
    journal.note("ready")
    return Bench(
        target=job.place.target, release=job.place.release, device=device, journal=journal, numbers=job.numbers,
        sample=job.sample,
    )  # fmt: skip


def _stop_in_good_order(journal: Journal) -> None:
    def stop(_number: int, _frame: FrameType | None) -> None:
        # No exception: a test could swallow it.
        with contextlib.suppress(OSError):
            journal.close("interrupted")
        os._exit(ChildExit.STOPPED)

    signal.signal(signal.SIGTERM, stop)


def _probe(device: Device) -> str:
    try:
        return device.probe() or ""
    except Exception as error:
        traceback.print_exc()
        return _sentence(error)


def _sentence(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
