"""One pytest session on a target: who activates, who plans, who records, who writes the run's folder."""

import os
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from conformance import expectations, plan
from conformance.errors import ConformanceError, ExitCode, StoreError
from conformance.plan import PlannedTest
from conformance.provenance import rule_files
from conformance.pytest_hooks import activation, folder
from conformance.pytest_hooks.activation import Chosen
from conformance.pytest_hooks.keeping import Kept, ended_by, written
from conformance.pytest_hooks.planning import Planner, without_tests
from conformance.pytest_hooks.recorder import Recorder
from conformance.targets import Device

_RUN: Final = "conformance_run"
_PLAN: Final = "conformance_plan"
"""Keys of the run's folder and of the collected plan's file in what pytest-xdist gives its workers."""
FIRST_WORKER: Final = "gw0"
_WORKER: Final = "PYTEST_XDIST_WORKER"
"""pytest-xdist's variable: this process is a worker."""
_WRONG: Final = "conformance_error"
"""Key of the sentence that a worker without a device gives back."""


def prepare(config: pytest.Config, target: str, release: str) -> None:
    """Activate the target and register the session. Raises pytest.UsageError with one sentence."""
    given: Any = config.known_args_namespace
    device, wrong = None, ""
    try:
        chosen = activation.choose(target, release)
        expectations.load(target, chosen.release)
        rule_files.every()
    except ConformanceError as error:
        raise pytest.UsageError(str(error)) from error
    os.environ.update(chosen.variables)
    try:
        device = None if _hands_out(given) else activation.activate(chosen)
    except ConformanceError as error:
        if _WORKER not in os.environ:
            raise pytest.UsageError(str(error)) from error
        wrong = str(error)  # the process that hands out the tests says it, once
    if device is not None and not given.conformance_plain:
        activation.quicken()
    config.pluginmanager.register(Session(chosen, device, wrong), "conformance-session")


def _hands_out(given: Any) -> bool:
    """Whether this process hands the tests out to workers: it need not have the device."""
    wanted = getattr(given, "numprocesses", None) or getattr(given, "tx", None)
    return bool(wanted) and not given.collectonly and _WORKER not in os.environ


class Session:
    """What this process does in the run; which of its parts are used depends on pytest-xdist."""

    def __init__(self, chosen: Chosen, device: Device | None, wrong: str = "") -> None:
        self._chosen = chosen
        self._device = device
        self._wrong = wrong
        self._run: folder.Run | None = None
        self._path = Path()
        self._recorder: Recorder | None = None
        self._journal: Kept | None = None
        self._tell: Callable[[str], None] = lambda _: None
        self._uncollected: list[PlannedTest] = []
        self._part = False
        self._plan_only = ""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Take the part of a worker, of the one that hands out, or of both."""
        try:
            self._take_part(config, getattr(config, "workerinput", None))
        except ConformanceError as error:
            raise pytest.UsageError(str(error)) from error

    def _take_part(self, config: pytest.Config, work: dict[str, Any] | None) -> None:
        option = config.option
        self._plan_only = option.conformance_plan or ""
        if work is None and not self._plan_only and not option.collectonly:
            self._run = folder.Run.new(self._chosen, option.conformance_run)
        if work is None and getattr(option, "tx", None) and not option.collectonly:
            return
        if self._wrong:
            config.workeroutput[_WRONG] = self._wrong  # type: ignore[attr-defined]
            return
        if self._device is None:
            self._device = activation.activate(self._chosen)
        path = Path(work[_RUN]) if work else (self._run.folder.path if self._run else None)
        if path is not None:
            self._record(config, path, str(work["workerid"]) if work else "main")

    def _record(self, config: pytest.Config, path: Path, name: str) -> None:
        assert self._device is not None
        self._path = path
        if hasattr(config, "workeroutput"):
            self._tell = lambda sentence: config.workeroutput.update({_WRONG: ended_by(sentence)})
        self._journal = Kept(path / "journal" / f"{name}.jsonl", self._tell)
        self._recorder = Recorder(self._device, self._journal)
        self._recorder.start(config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """End a worker whose device could not be activated."""
        if self._wrong:
            pytest.exit(self._wrong)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """End the session when a worker has no device."""
        wrong = getattr(node, "workeroutput", {}).get(_WRONG)
        if wrong:
            pytest.exit(wrong, returncode=pytest.ExitCode.USAGE_ERROR)

    def pytest_unconfigure(self) -> None:
        """Leave unittest as it was."""
        if self._recorder is not None:
            self._recorder.stop()

    def pytest_deselected(self, items: Iterable[pytest.Item]) -> None:
        """Note that the run is no longer over whole files."""
        self._part = self._part or bool(list(items))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Plan one test in the place of a file that cannot be collected or skips itself."""
        report = yield
        if not report.passed and isinstance(collector, pytest.Module | pytest.Class):
            call = getattr(report, "call", None)
            error = call.excinfo.value if call is not None and call.excinfo is not None else None
            self._uncollected.append(without_tests(report, collector, error))
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Plan the collected tests and begin the run, before pytest-xdist or anyone else starts one."""
        if self._device is None:
            return
        config = session.config
        first = getattr(config, "workerinput", {"workerid": FIRST_WORKER})["workerid"] == FIRST_WORKER
        coverage = expectations.load(self._chosen.target.name, self._chosen.release)
        settle = bool(self._plan_only)
        planner = Planner(coverage=coverage, device=self._device.device, definitions=first, settle=settle)
        planned = [*planner.plan(session.items), *self._uncollected]
        if first and (planned or self._plan_only):
            self._begin(config, planned)

    def _begin(self, config: pytest.Config, planned: list[PlannedTest]) -> None:
        assert self._device is not None
        part = self._part or any("::" in each for each in config.args)
        if self._plan_only:
            self._usable(Path(self._plan_only), lambda: plan.write(Path(self._plan_only), planned))
        else:
            self._usable(self._path, lambda: self._write(config, planned, part))

    def _write(self, config: pytest.Config, planned: list[PlannedTest], part: bool) -> None:
        assert self._device is not None
        facts = folder.survey(self._device, self._path, planned)
        collected = folder.Collected(
            tests=planned, environment=folder.environment(self._device.environment()) | facts, part=part
        )
        if self._run is not None:
            self._run.begin(collected, _files(config))
        elif self._journal is not None:
            Path(config.workerinput[_PLAN]).write_bytes(msgspec.json.encode(collected))  # type: ignore[attr-defined]

    def _usable(self, path: Path, act: Callable[[], object]) -> None:
        try:
            with written(path):
                act()
        except StoreError as error:
            self._tell(str(error))
            self._journal = None  # nothing is in it, and its end could not be written either
            pytest.exit(ended_by(str(error)), returncode=ExitCode.STORE)
        except ConformanceError as error:
            pytest.exit(f"conformance: {error}", returncode=pytest.ExitCode.USAGE_ERROR)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a pytest-xdist worker where the run is recorded."""
        if self._run is not None:
            node.workerinput[_RUN] = str(self._run.folder.path)
            node.workerinput[_PLAN] = str(self._run.folder.path / "collected.json")

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        """Begin the run with what the first worker collected; pytest-xdist hands out no test before this returns."""
        if self._run is None or node.workerinput["workerid"] != FIRST_WORKER:
            return
        path = self._run.folder.path / "collected.json"
        run = self._run
        if path.exists():
            collected = msgspec.json.decode(path.read_bytes(), type=folder.Collected)
            path.unlink()
            self._usable(run.folder.path, lambda: run.begin(collected, _files(node.config)))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Close the journal in good order: a test that is still open was interrupted and did not crash."""
        if self._journal is not None:
            self._journal.close("interrupted" if exitstatus == pytest.ExitCode.INTERRUPTED else "")
            self._journal = None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what became of the run."""
        if self._run is not None:
            terminalreporter.section("conformance")
            for line in self._run.summary():
                terminalreporter.write_line(line)


def _files(config: pytest.Config) -> list[str]:
    return sorted({each.partition("::")[0] for each in config.args})
