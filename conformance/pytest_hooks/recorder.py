"""Records every test that this process runs: begin, stages and end in the journal, one outcome a test."""

import os
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from typing import Any, Final

import pytest
from _pytest.subtests import SubtestReport

from conformance import classify
from conformance.outcomes import Stage
from conformance.provenance import guards
from conformance.provenance.frames import skip_of
from conformance.provenance.rules import Origin, Skip
from conformance.pytest_hooks import wider
from conformance.pytest_hooks.evidence import Evidence, Seen
from conformance.pytest_hooks.graphs import Graphs
from conformance.pytest_hooks.identity import tree_of
from conformance.pytest_hooks.keeping import Records
from conformance.pytest_hooks.planning import PLANNED, function_of
from conformance.pytest_hooks.streams import KeptOpen
from conformance.pytest_hooks.subtests import named
from conformance.pytest_hooks.verdict import judged
from conformance.pytest_hooks.watch import Watch
from conformance.targets import Device

_STAGES: Final = {"setup": Stage.SETUP, "call": Stage.EXECUTE, "teardown": Stage.TEARDOWN}
COVERAGE: Final = "coverage:"
"""Rules of coverage files begin with it; PyTorch's own decorators skip by themselves."""

FILTERS: Final = (
    "ignore:.*(ran on the CPU|CPU fallback):UserWarning",
    "default::pytest.PytestUnhandledThreadExceptionWarning",
    "default::pytest.PytestUnraisableExceptionWarning",
)
"""The backend's warning that an op fell back, which the outcome tells; and warnings of a thread's end or of the garbage
collector, which come in whatever test runs then. An ini file with `error` must make no failure of them."""


class Recorder:
    """The hooks around each test. `number` tells which attempt at a key comes next."""

    def __init__(self, device: Device, journal: Records, number: Callable[[str], int] = lambda _: 1) -> None:
        self._device = device
        self._journal = journal
        self._number = number
        self._pid = os.getpid()
        self._open: tuple[pytest.Item, Evidence] | None = None
        self._watch = Watch(self._told)
        self.ended: set[str] = set()
        """Keys of the tests that have their attempt."""
        self.left_open = ""
        """Key of the test that is open, after the session of the one in which pytest itself ended."""

    def start(self, config: pytest.Config) -> None:
        """Begin to record the tests of a session."""
        # Imported late: it needs torch, which must not be imported before the target's variables are set.
        from conformance.pytest_hooks.isolation import kept

        for each in FILTERS:
            config.addinivalue_line("filterwarnings", each)
        config.pluginmanager.register(self, "conformance-recorder")
        config.pluginmanager.register(KeptOpen(), "conformance-streams")
        config.pluginmanager.register(
            kept.plugin(self._device.device, self._leaked, lambda: self._open is not None), "conformance-isolation"
        )
        self._watch.start()

    def stop(self) -> None:
        """Leave unittest's results alone again."""
        self._watch.stop()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Journal the beginning and the end of a test. An interrupted one stays open."""
        planned = item.stash.get(PLANNED, None)
        if planned is None:
            return (yield)
        number = self._number(planned.key)
        evidence = Evidence(planned=planned)
        self._open = (item, evidence)
        self._journal.begin(planned.key, number)
        self.left_open = planned.key
        try:
            result = yield
        except BaseException:
            self._end_stray_child()
            raise
        finally:
            self._open = None
        self._end_stray_child()
        left = (*evidence.leaked, *wider.told(evidence.seen))
        self._journal.end(planned.key, replace(judged(evidence), reached=evidence.reached, leaked=left), number)
        self.left_open = ""
        self.ended.add(planned.key)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip what the coverage file excludes before anything of it is set up."""
        evidence = self._evidence(item)
        decided = evidence.planned.decided if evidence else None
        if evidence and decided and decided.rule.startswith(COVERAGE):
            evidence.skipped_here = True
            pytest.skip(f"{decided.rule} {decided.reason}".strip())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Read the op trackers around the test's body, set-up method included."""
        evidence = self._evidence(item)
        if evidence is None:
            return (yield)
        self._journal.stage(evidence.planned.key, Stage.EXECUTE)
        graphs = Graphs()
        self._device.clear()
        evidence.running = True
        try:
            result = yield
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException:
            self._end_stray_child()
            self._read(evidence, graphs)
            raise
        finally:
            evidence.running = False
        self._end_stray_child()
        self._read(evidence, graphs)
        return result

    def _read(self, evidence: Evidence, graphs: Graphs) -> None:
        """Wait for the device and keep what the trackers tell."""
        try:
            self._device.synchronize()
            executed, fallback = self._device.executed_ops(), self._device.fallback_ops()
            evidence.reached, compiled = self._device.reached(), self._device.compiled()
        except Exception as error:
            evidence.late = error
            return
        proof = classify.of_proof(
            tracks=self._device.tracks, executed=executed, fallback=fallback, outputs_on_device=True, computes=True
        )
        nodes = sum(each.nodes for each in compiled)
        evidence.proof = classify.of_compiled(proof, 0) if graphs.asked() and not nodes else proof
        evidence.fallback = fallback

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Journal that the test's body is over."""
        evidence = self._evidence(item)
        if evidence is not None and evidence.proof is not None:
            self._journal.stage(evidence.planned.key, Stage.TEARDOWN)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep each report with the exception that it was made from."""
        evidence = self._evidence(item)
        waiting = getattr(item, "_excinfo", None)
        excinfo = waiting[0] if waiting else call.excinfo
        report = yield
        if isinstance(report.longrepr, tuple):
            # Half a UTF-16 pair in a reason would end a worker of pytest-xdist, which cannot send it.
            path, line, reason = report.longrepr
            report.longrepr = (path, line, reason.encode("utf-8", "backslashreplace").decode("utf-8"))
        if evidence is not None:
            error = excinfo.value if excinfo is not None else None
            seen = _seen(report, error, evidence.running)
            evidence.seen.append(seen)
            if not seen.subtest and report.when in _PHASES:
                evidence.seconds[_PHASES[report.when]] = call.duration
            if seen.word == "skipped" and seen.foreseen is None and not waiting and not seen.subtest:
                evidence.skips.append(self._skip(item, error, seen.stage))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Name the subtest that was seen last: its parameters are told only after its report is made."""
        if self._open is None or not isinstance(report, SubtestReport):
            return
        seen = self._open[1].seen
        if seen and seen[-1].subtest:
            seen[-1] = named(seen[-1], report)

    def _skip(self, item: pytest.Item, error: BaseException | None, stage: Stage) -> Skip:
        cls = getattr(item, "cls", None)
        if stage is Stage.SETUP and (on_class := guards.class_skip(cls)) is not None:
            return on_class
        if error is None:
            return Skip(origin=Origin.ELSEWHERE, reason="")
        return skip_of(error, tree_of(item.path))

    def _leaked(self, left: Iterable[str]) -> None:
        """Called by the isolation with what was found changed and put back."""
        if self._open is not None:
            self._open[1].leaked.extend(left)

    def _told(self, what: str, error: BaseException | None, text: str) -> None:
        """Called by the watch on unittest's results."""
        if self._open is None:
            return
        item, evidence = self._open
        if what == "xfail":
            evidence.expected_failure = error
        elif what == "xpass":
            evidence.unexpected_success = True
        elif what == "skip" and error is not None:
            evidence.skips.append(guards.applied(skip_of(error, tree_of(item.path)), function_of(item)))
        elif what == "skip":
            evidence.skips.append(guards.decorated(getattr(item, "cls", None), function_of(item), text))

    def _evidence(self, item: pytest.Item) -> Evidence | None:
        if self._open is None or self._open[0] is not item:
            return None
        return self._open[1]

    def _end_stray_child(self) -> None:
        """End a child that a test forked and that came out of the test: it must not run the rest a second time."""
        if os.getpid() != self._pid:
            os._exit(1)


_PHASES: Final = {"setup": "setup", "call": "execute"}


_STRICT: Final = "[XPASS(strict)] "
"""How pytest words the failure of a test that passed against a strict marker."""


def _seen(report: pytest.TestReport, error: BaseException | None, running: bool) -> Seen:
    word, foreseen, failed = report.outcome, getattr(report, "wasxfail", None), report.outcome == "failed"
    text = str(report.longrepr) if failed and error is None else ""
    if text.startswith(_STRICT):
        word, foreseen = "passed", text.removeprefix(_STRICT)
    return Seen(
        stage=_STAGES.get(report.when, Stage.SETUP), word=word, error=error,
        foreseen=None if foreseen is None else str(foreseen), subtest=running, text=text,
        printed="\n".join(f"{name}:\n{text}" for name, text in report.sections) if failed else "",
    )  # fmt: skip
