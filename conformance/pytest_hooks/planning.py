"""From collected pytest items to planned tests."""

import hashlib
import inspect
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from types import CodeType
from typing import Any, Final, Protocol

import pytest

from conformance.outcomes import Outcome, TestId
from conformance.plan import Decision, Expected, PlannedTest, storable
from conformance.provenance import guards
from conformance.provenance.entries import parameters
from conformance.provenance.frames import skip_of
from conformance.provenance.rules import Origin, Skip, explain
from conformance.pytest_hooks import identity, tree_files

LIBRARY: Final = "upstream:library"
"""Rule of what needs a library that is not installed, in rules.toml."""
PLANNED: Final = pytest.StashKey[PlannedTest]()
"""The planned test of an item."""


class Coverage(Protocol):
    """What the backend claims: conformance.expectations.load gives one."""

    def decide(self, test: TestId) -> Decision | None:
        """The skip of a test that the backend does not claim."""

    def probed(self, test: TestId) -> Decision | None:
        """What a test stays that is run although the backend does not claim it."""

    def expect(self, test: TestId) -> Expected | None:
        """The failure that the expectation file foresees."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Planner:
    """Plans items for a device.

    Without `definitions` their hashes are left out: they cost a look into the source. With `settle` the skips that
    upstream's decorators will raise are settled here; without, the tests run and tell it themselves.
    """

    coverage: Coverage
    device: str
    definitions: bool = True
    settle: bool = True

    def plan(self, items: Iterable[pytest.Item]) -> list[PlannedTest]:
        """One planned test an item, kept in its stash as well. Names that meet are left to plan.write to refuse."""
        return [self._keep(item) for item in items]

    def _keep(self, item: pytest.Item) -> PlannedTest:
        planned = self.planned(item)
        item.stash[PLANNED] = planned
        return planned

    def planned(self, item: pytest.Item) -> PlannedTest:
        """The planned test of one item."""
        cls, function = getattr(item, "cls", None), function_of(item)
        test = identity.identify(item.path, classes_of(item), item.name, cls, function)
        skip = guards.foreseen(cls, function, self.device)
        decided, probed = (None, None) if skip else (self.coverage.decide(test), self.coverage.probed(test))
        if skip and self.settle and not own_set_up(item):
            outcome, rule = explain(skip)
            decided = Decision(outcome=outcome, rule=rule, reason=skip.reason, source=skip.source)
        foreseen = guards.foreseen_failure(cls, function, self.device)
        expected = foreseen or (None if probed else self.coverage.expect(test))
        definition = define(cls, function, test.dtype) if self.definitions else ""
        where = str(item.path) if self.definitions else ""
        return storable(
            PlannedTest(id=test, definition=definition, decided=decided, expected=expected, probed=probed, where=where)
        )


def function_of(item: pytest.Item) -> Any:
    """The test function as its class has it: an instance may carry a wrapper of the harness instead."""
    cls = getattr(item, "cls", None)
    name = getattr(item, "originalname", None) or item.name
    found = inspect.getattr_static(cls, name, None) if cls is not None else None
    if isinstance(found, staticmethod | classmethod):
        found = found.__func__
    return found if found is not None else getattr(item, "function", None)


def classes_of(item: pytest.Item | pytest.Collector) -> tuple[str, ...]:
    """The names of the classes around a test, outermost first."""
    return tuple(each.name for each in item.listchain() if isinstance(each, pytest.Class))


_HARNESS = "torch.testing._internal"
_FIXTURES = ("_unittest_", "_conformance_")
"""pytest's fixtures for unittest's classes, and this plugin's own."""


def own_set_up(item: pytest.Item) -> bool:
    """Whether anything of the test file runs before the test's decorators and may skip or fail first."""
    cls = getattr(item, "cls", None)
    if getattr(cls, "__unittest_skip__", False):
        return False
    names = [
        each for each in getattr(item, "fixturenames", ()) if not (each == "request" or each.startswith(_FIXTURES))
    ]
    marked = any(each.name in ("skip", "skipif", "xfail", "usefixtures") for each in item.iter_markers())
    return marked or bool(names) or any(_of_the_file(cls, each) for each in ("setUp", "setUpClass"))


def _of_the_file(cls: Any, name: str) -> bool:
    """Whether a class' set-up is neither unittest's nor PyTorch's."""
    function = _generic(cls, name)
    module = str(getattr(function, "__module__", ""))
    return function is not None and not module.startswith((_HARNESS, "unittest", "expecttest"))


def _generic(cls: Any, name: str) -> Any:
    """A method of the class, or of the generic class that PyTorch made it from."""
    function = getattr(cls, name, None)
    generic = _closed_over(function, "generic_test_class")
    return function if generic is None else getattr(generic, name)


def _closed_over(function: Any, name: str) -> Any:
    inner = getattr(function, "__func__", function)
    code = getattr(inner, "__code__", None)
    if code is None or name not in code.co_freevars:
        return None
    return inner.__closure__[code.co_freevars.index(name)].cell_contents


def define(cls: Any, function: Any, dtype: str) -> str:
    """A hash over what a test is: its source, its class' set-up, the OpInfo that it was made for and its dtype.

    The source has the decorators that are written above the function. Neither a path nor a line's number nor an
    address takes part, so that it is equal in every process and on every machine.
    """
    inner = inspect.unwrap(function) if function is not None else None
    op = parameters(function).get("op")
    whole = hashlib.blake2b(digest_size=12)
    for part in (_source_of(inner), _set_up(cls), "" if op is None else _op(op), dtype):
        whole.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return whole.hexdigest()


@cache
def _set_up(cls: Any) -> str:
    """The source of what the file itself does around each test of a class."""
    names = ("setUpClass", "setUp", "tearDown", "tearDownClass")
    return "\n".join(_source_of(inspect.unwrap(_generic(cls, each))) for each in names if _of_the_file(cls, each))


def _source_of(function: Any) -> str:
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return "" if code is None else _source(code.co_filename, code)


@cache
def _source(_file: str, code: CodeType) -> str:
    # Code is compared without its file and its decorators.
    try:
        return inspect.getsource(code)
    except (OSError, TypeError):
        return code.co_qualname


def _op(op: Any) -> str:
    from conformance.suites.ops.definitions import of_op

    return of_op(op)


def without_tests(
    report: pytest.CollectReport, collector: pytest.Collector, error: BaseException | None
) -> PlannedTest:
    """The planned test that stands for a file or class which skipped itself or could not be imported."""
    if report.skipped:
        skip = Skip(origin=Origin.MODULE, reason="")
        if error is not None:
            skip = replace(skip_of(error, identity.tree_of(collector.path)), origin=Origin.MODULE)
        outcome, rule = explain(skip)
        decided = Decision(outcome=outcome, rule=rule, reason=skip.reason[:1_000], source=skip.source)
    else:
        decided = _not_imported(report, collector, error)
    where = str(collector.path)
    test = identity.module_id(collector.path, classes_of(collector))
    return storable(PlannedTest(id=test, definition="", decided=decided, where=where))


def _not_imported(report: pytest.CollectReport, collector: pytest.Collector, error: BaseException | None) -> Decision:
    """A file that fails at its import is an error, but for a package that it is known to need and that is not here."""
    real = None if error is None else error.__cause__ or error
    reason = (str(report.longrepr) if real is None else f"{type(real).__name__}: {real}")[:1_000]
    if isinstance(real, ModuleNotFoundError) and (real.name or "").partition(".")[0] in tree_files.needs(
        collector.path
    ):
        return Decision(outcome=Outcome.SKIP_ENVIRONMENT, rule=LIBRARY, reason=reason)
    return Decision(outcome=Outcome.ERROR, rule="collection", reason=reason)
