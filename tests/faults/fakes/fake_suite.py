"""Tests that do what their name says: `segv-3` dies by SIGSEGV, `pass-7` passes. The list is in FAKE_STATE/tests."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fake_target import state

from conformance import classify, expectations
from conformance.errors import UsageError
from conformance.outcomes import Attempt, Outcome, RanOn, Stage, TestId
from conformance.plan import Decision, PlannedTest, Selection
from conformance.suites import Bench

SICK = RuntimeError("execution unit unrecoverable, NRT_STATUS=101")


def once(name: str) -> bool:
    """Whether this is the first call with that name in the whole run."""
    try:
        (state() / f"once-{name}").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def die() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _poison(name: str) -> None:
    (state() / "poisoned").touch()
    die()


def _kill_server() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(5)


def _orphan(name: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (state() / "orphan").write_text(str(child.pid))
    die()


def _loud(name: str) -> None:
    for _ in range(40):
        print("x" * (1 << 20), flush=True)
        time.sleep(0.1)


def _need_warmth() -> None:
    assert os.getppid() == sys.modules["fake_warmth"].PROCESS


def _raise(error: BaseException) -> None:
    raise error


BEFORE: list[str] = []
"""Names of the tests that this process ran."""


def _first(name: str) -> None:
    assert len(BEFORE) == 1, f"{BEFORE[0]} ran before"


def _later(name: str) -> None:
    assert len(BEFORE) > 1, "nothing ran before"


def _moody(name: str) -> None:
    before = len(list(state().glob("moody-*")))
    (state() / f"moody-{before}").touch()
    assert before == 1, "only the second of three is right"


DOES: dict[str, Callable[[str], object]] = {
    "pass": lambda name: None,
    "warm": lambda name: _need_warmth(),
    "sleep": lambda name: time.sleep(0.05),
    "slow": lambda name: time.sleep(0.4),
    "fail": lambda name: _raise(AssertionError("1 is not 2")),
    "shaky": lambda name: _raise(AssertionError("wrong the first time")) if once(name) else None,
    "first": _first,
    "later": _later,
    "moody": _moody,
    "segv": lambda name: die(),
    "abort": lambda name: os.abort(),
    "native": lambda name: ctypes.string_at(0),
    "kill": lambda name: os.kill(os.getpid(), signal.SIGKILL),
    "exit0": lambda name: os._exit(0),
    "hang": lambda name: time.sleep(600),
    "flakycrash": lambda name: die() if once(name) else None,
    "infraonce": lambda name: _raise(SICK) if once(name) else None,
    "infra": lambda name: _raise(SICK),
    "poison": _poison,
    "orphan": _orphan,
    "loud": _loud,
    "killserver": lambda name: _kill_server(),
    "killserveronce": lambda name: _kill_server() if once(name) else None,
    "stubborn": lambda name: (signal.signal(signal.SIGTERM, signal.SIG_IGN), time.sleep(600)),
}


@dataclass(frozen=True)
class FakeSuite:
    name: str = "fake"
    preload: tuple[str, ...] = ()

    def warm(self, tests: Sequence[PlannedTest]) -> tuple[str, ...]:
        return ("fake_warmth", "no_such_module") if any(test.id.op == "warm" for test in tests) else ()

    def collect(self, selection: Selection, target: str, release: str) -> Iterator[PlannedTest]:
        names = (state() / "tests").read_text().split()
        if "slowplan-0" in names:
            (state() / "planning").touch()
            time.sleep(600)
        for each in [name for name in names if name.startswith("dieplan-")]:
            names.remove(each)
            deaths = state() / "deaths"
            if (died := len(list(state().glob("deaths*")))) < int(each.partition("-")[2]):
                deaths.with_name(f"deaths-{died}").touch()
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(600)
        unknown = set(selection.ops) - {name.partition("-")[0] for name in names}
        if unknown:
            raise UsageError(f"unknown op {sorted(unknown)[0]!r}")
        coverage = expectations.load(target, release)
        for name in names:
            op = name.partition("-")[0]
            if selection.ops and op not in selection.ops:
                continue
            skip = Decision(outcome=Outcome.SKIP_COVERAGE, rule="coverage:x") if op == "skip" else None
            identity = TestId(suite="fake", file="f", cls="c", name=name, op=op, dtype="float32", kind="forward")
            yield PlannedTest(
                id=identity, definition=f"d-{name}", decided=skip or coverage.decide(identity),
                probed=coverage.probed(identity), expected=coverage.expect(identity),
            )  # fmt: skip

    def run(self, tests: Sequence[PlannedTest], bench: Bench) -> None:
        for test in tests:
            self._run(test, bench)

    def _run(self, test: PlannedTest, bench: Bench) -> None:
        op, key, number = test.id.op, test.key, bench.number(test.key)
        if op == "never":
            return
        if op == "diebefore":
            die()
        if op == "leave":
            bench.journal.begin(key, number)
            raise LookupError("a bug in the suite")
        if op == "pause":
            time.sleep(600)
        bench.journal.begin(key, number)
        BEFORE.append(test.id.name)
        bench.journal.stage(key, Stage.COMPILE if op == "compilehang" else Stage.EXECUTE)
        if op == "compilehang":
            time.sleep(600)
        made = classify.apply_expected(_attempt(lambda: DOES[op](test.id.name)), test.expected)
        bench.journal.end(key, made, number)


def _attempt(work: Callable[[], object]) -> Attempt:
    began = time.perf_counter()
    try:
        work()
    except Exception as error:
        verdict = classify.of_exception(error)
        return Attempt(
            outcome=verdict.outcome, rule=verdict.rule, message=verdict.message, cause=verdict.cause,
            stage=Stage.EXECUTE,
        )  # fmt: skip
    seconds = {"execute": time.perf_counter() - began}
    return Attempt(outcome=Outcome.PASS, ran_on=RanOn.DEVICE, stage=Stage.EXECUTE, seconds=seconds)


def suite() -> FakeSuite:
    return FakeSuite()
