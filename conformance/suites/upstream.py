"""Suite `upstream`: PyTorch's own test files, or files written like them, run by pytest in a child process."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from conformance import plan
from conformance.engines import signal_name
from conformance.errors import UsageError
from conformance.plan import PlannedTest, Selection
from conformance.suites import Bench, Suite

_OPTIONS: Final = (
    *("-p", "no:cacheprovider"),  # no folder of ours beside foreign tests
    *("-p", "no:faulthandler"),  # the worker has its own, which writes to the run's log
    *("-n0", "--maxfail=0", "--continue-on-collection-errors", "-q"),  # every test, here, whatever an ini file says
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # plugins were imported with torch, before pytest
)


class Upstream:
    """Test files given with --tests. Every file is collected by pytest on the target, so that its plan is pytest's."""

    name: str = "upstream"
    preload: tuple[str, ...] = ("torch", "pytest", "xdist.plugin", "conformance.pytest_hooks.running")
    """Not PyTorch's device test harness: it looks for devices while it is imported, before any child has one."""

    def warm(self, tests: Sequence[PlannedTest]) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing further."""
        return ()

    def collect(self, selection: Selection, target: str, release: str) -> Iterable[PlannedTest]:
        """The tests of the selected files. Raises UsageError without files, or for one that is not there or empty."""
        if not selection.tests:
            raise UsageError("suite 'upstream' needs test files: give --tests FILE, once or several times")
        missing = [each for each in selection.tests if not Path(each.partition("::")[0]).exists()]
        if missing:
            raise UsageError(f"there is no test file {missing[0]!r}: give --tests the path of a file or folder")
        found = _collected(selection.tests, target, release)
        if selection.ops:
            found = [each for each in found if _op_chosen(each, selection.ops)]
        if selection.keys:
            found = [each for each in found if each.key in set(selection.keys)]
        if not found:
            raise UsageError(
                f"no test for target {target!r} in {', '.join(selection.tests)}: is it an upstream-style file?"
            )
        return found

    def run(self, tests: Sequence[PlannedTest], bench: Bench) -> None:
        """Run the tests in this process, in order; what they print goes where this process' output goes."""
        from conformance.pytest_hooks import running

        running.run(tests, bench, _OPTIONS)


def suite() -> Suite:
    """The suite."""
    return Upstream()


def _op_chosen(test: PlannedTest, ops: tuple[str, ...]) -> bool:
    full = f"{test.id.op}.{test.id.variant}" if test.id.variant else test.id.op
    return test.id.op in ops or full in ops


def _collected(files: Sequence[str], target: str, release: str) -> list[PlannedTest]:
    """Have pytest collect in a process of its own, which activates the device as a run will."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        path = Path(folder) / "plan.jsonl"
        command = [sys.executable, "-m", "pytest", *_OPTIONS, "--collect-only", "--conformance-target", target]
        command += ["--conformance-release", release, "--conformance-plan", str(path), *files]
        # Inside a worker of pytest-xdist, this pytest is none of its workers.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST_")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
        if not path.exists():
            raise UsageError(f"pytest could not collect {', '.join(files)}: {_last_word(done)}")
        return plan.read(path)


def _last_word(done: "subprocess.CompletedProcess[str]") -> str:
    """The line that says what went wrong."""
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR:", "!!!", "E ", "Exit:", "conformance:"))]
    return (errors or lines or [f"a file ended the process while it was imported, {_end(done.returncode)}"])[
        -1 if not errors else 0
    ].strip("! ")


def _end(code: int) -> str:
    return f"by {signal_name(-code)}" if code < 0 else f"with status {code}"
