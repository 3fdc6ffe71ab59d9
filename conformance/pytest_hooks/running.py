"""Runs planned upstream tests by pytest in this process, the device active already: one attempt each, journalled."""

import gc
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final

import pytest

from conformance.outcomes import Attempt, Outcome, RanOn
from conformance.plan import PlannedTest
from conformance.pytest_hooks import activation, identity
from conformance.pytest_hooks.planning import PLANNED, classes_of, function_of
from conformance.pytest_hooks.recorder import Recorder
from conformance.pytest_hooks.restrict import Wanted, restricted
from conformance.suites import Bench

GONE: Final = "test-gone"
"""Rule of tests that their file no longer has."""
COLLECTION: Final = "collection"
"""Rule of tests whose file can no longer be collected."""
ENDED_PYTEST: Final = "ended-pytest"
"""Rule of tests that made pytest itself end."""


def run(tests: Sequence[PlannedTest], bench: Bench, options: Sequence[str]) -> None:
    """Run the tests file by file, in plan order. pytest is called again for what is left when a test makes pytest end.

    Raises KeyboardInterrupt when one was raised.
    """
    activation.for_device_tests(bench.device.device)
    activation.quicken()
    left = {each.key: each for each in tests}
    whole: set[str] = set()
    while left:
        file = next(iter(left.values())).where
        chosen = Chosen({key: each for key, each in left.items() if each.where == file}, bench)
        wanted = Wanted.of((each.id for each in chosen.tests.values()), bench.device.device)
        with file_alone(Path(file)), nullcontext() if file in whole else restricted(wanted):
            code = pytest.main([*options, file], plugins=[chosen])
        if chosen.interrupted:
            raise KeyboardInterrupt
        if chosen.settle(last=file in whole):
            whole.add(file)
            left = {key: each for key, each in left.items() if key not in chosen.ended}
            continue
        if not chosen.ended and len(left) < len(tests):
            # An earlier test left this process unfit for pytest: the supervisor gives the rest to a fresh one.
            return
        if not chosen.ended:
            chosen.give_up(f"pytest ended with status {int(code)} before it ran a test: the log tells why")
        left = {key: each for key, each in left.items() if key not in chosen.ended}


@contextmanager
def file_alone(file: Path) -> Iterator[None]:
    """Import a file as if no other had been: PyTorch has test_ops.py twice, and helpers of one name in two folders."""
    before, path, tree = set(sys.modules), list(sys.path), Path(identity.tree_of(file))
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules).difference(before):
            where = getattr(sys.modules[name], "__file__", None)
            if where and Path(where).is_relative_to(tree):
                del sys.modules[name]


class Chosen:
    """One pytest session over some planned tests; a pytest plugin."""

    def __init__(self, tests: Mapping[str, PlannedTest], bench: Bench) -> None:
        self.tests = tests
        self._bench = bench
        self._recorder = Recorder(bench.device, bench.journal, bench.number)
        self._found: set[str] = set()
        self._collected = False
        self._broken: dict[str, str] = {}
        self._why = ""
        self.interrupted = False

    @property
    def ended(self) -> set[str]:
        """Keys of the tests that have their attempt."""
        return self._recorder.ended

    def pytest_configure(self, config: pytest.Config) -> None:
        """Begin to record."""
        self._recorder.start(config)

    def pytest_unconfigure(self) -> None:
        """Leave unittest as it was."""
        self._recorder.stop()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Note what cannot be collected any more."""
        report = yield
        if not report.passed:
            self._broken[str(collector.path)] = str(report.longrepr)
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the planned tests, in plan order."""
        by_key: dict[str, pytest.Item] = {}
        for item in items:
            found = identity.identify(
                item.path, classes_of(item), item.name, getattr(item, "cls", None), function_of(item)
            )
            planned = self.tests.get(found.key)
            if planned is not None:
                item.stash[PLANNED] = planned
                by_key[found.key] = item
        items[:] = [by_key[key] for key in self.tests if key in by_key]
        self._found, self._collected = set(by_key), True

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Tell an interrupt, which ends the run, from a test that makes pytest exit."""
        self.interrupted = isinstance(excinfo.value, KeyboardInterrupt)
        self._why = f"{type(excinfo.value).__name__}: {excinfo.value}"

    def pytest_internalerror(self, excrepr: object) -> None:
        """Keep what pytest or a plugin stumbled over."""
        self._why = str(excrepr)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Look for no garbage while tests are made: nothing is thrown away then."""
        gc.disable()
        try:
            return (yield)
        finally:
            gc.enable()

    def settle(self, *, last: bool) -> bool:
        """End the test in which pytest ended, and at the `last` look at the file those that were not found.

        Whether the file is to be looked at once more, with all of its tests made.
        """
        if self._recorder.left_open:
            self._end(self._recorder.left_open, Outcome.ERROR, ENDED_PYTEST, self._why or "pytest ended in this test")
        missing = [key for key in self.tests if self._collected and key not in self._found]
        for key in missing if last else ():
            self._missing(key, self._broken.get(self.tests[key].where, ""))
        return bool(missing) and not last

    def _missing(self, key: str, why: str) -> None:
        self._bench.journal.begin(key, self._bench.number(key))
        if why:
            self._end(key, Outcome.ERROR, COLLECTION, why)
        else:
            self._end(key, Outcome.INVALID, GONE, "the test is in the plan, but no longer in its file")

    def give_up(self, why: str) -> None:
        """End every test that has no attempt yet."""
        for key in self.tests:
            if key not in self.ended:
                self._bench.journal.begin(key, self._bench.number(key))
                self._end(key, Outcome.ERROR, ENDED_PYTEST, self._why or why)

    def _end(self, key: str, outcome: Outcome, rule: str, why: str) -> None:
        lines = [line for line in why.strip().splitlines() if line.strip()] or [""]
        attempt = Attempt(outcome=outcome, rule=rule, ran_on=RanOn.NONE, message=lines[-1], cause=rule, detail=why)
        self._bench.journal.end(key, attempt, self._bench.number(key))
        self.ended.add(key)
