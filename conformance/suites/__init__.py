"""Suites: where planned tests come from and how they are run. One module a suite; `get` finds it by name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol, TypeAlias, runtime_checkable

from conformance.journal import Journal
from conformance.plan import PlannedTest, Selection
from conformance.registry import Registry
from conformance.targets import Device


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """What a suite needs in a child process: the activated device, the journal, and the attempt's number by key.

    `sample` restricts each test to one of its sample inputs, for reproduction.
    """

    target: str
    release: str
    device: Device
    journal: Journal
    numbers: Mapping[str, int]
    sample: int | None = None

    def number(self, key: str) -> int:
        """Which attempt at this test comes next, from 1."""
        return self.numbers.get(key, 0) + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Unstarted:
    """What a suite needs to run tests in processes that it forks: the journal, and how to start the device in one.

    `start` raises SystemExit, with the status that a child then ends with, where the device cannot be used.
    """

    journal: Journal
    numbers: Mapping[str, int]
    start: Callable[[], Bench]

    def number(self, key: str) -> int:
        """Which attempt at this test comes next, from 1."""
        return self.numbers.get(key, 0) + 1


class Suite(Protocol):
    """A source of planned tests."""

    name: str
    preload: tuple[str, ...]
    """Modules that the fork server imports once for all children; none of them may start the device."""

    def warm(self, tests: Sequence[PlannedTest]) -> tuple[str, ...]:
        """Further such modules, imported before the first child that runs these tests: planning waits for none."""

    def collect(self, selection: Selection, target: str, release: str) -> Iterable[PlannedTest]:
        """Every planned test of the selection, without running any. Raises UsageError for an unknown op or file."""

    def run(self, tests: Sequence[PlannedTest], bench: Bench) -> None:
        """Run the tests in order, each journalled as begin, stages, end. Exceptions of a test never leave it."""


@runtime_checkable
class KeepsBeside(Suite, Protocol):
    """A suite whose plan needs more than identities: what it keeps lies in the run's folder, under the suite's name."""

    def collect_beside(self, selection: Selection, target: str, release: str, folder: Path) -> Iterable[PlannedTest]:
        """As `Suite.collect`, with a folder to write to; the same folder again when a run is resumed."""


CollectBeside: TypeAlias = Callable[[Selection, str, str, Path], Iterable[PlannedTest]]


def looked_at(collect_beside: CollectBeside, selection: Selection, target: str, release: str) -> list[PlannedTest]:
    """`Suite.collect` of a suite that keeps something beside its plan: for looking only, what it keeps goes again."""
    with TemporaryDirectory(prefix="conformance-plan-") as folder:
        return list(collect_beside(selection, target, release, Path(folder)))


@runtime_checkable
class ForksItself(Protocol):
    """A suite of which some tests need processes of their own, forked by a child that has not started the device.

    They are run before the others of a shard, since a process that started a device can no longer be forked.
    """

    def apart(self, tests: Sequence[PlannedTest]) -> Sequence[PlannedTest]:
        """Which of the tests these are."""

    def run_apart(self, tests: Sequence[PlannedTest], unstarted: Unstarted) -> int:
        """Run the tests, each journalled; 0, or the status with which the child is to end at once."""


_REGISTRY: Final = Registry(
    what="suite",
    shipped={
        "ops": "conformance.suites.ops",
        "upstream": "conformance.suites.upstream",
    },
    group="conformance.suites",
)
"""Another package's suite is an entry point of that group: name = module with `suite() -> Suite`."""

names = _REGISTRY.names
module_of = _REGISTRY.module_of


def get(name: str) -> Suite:
    """The suite of that name. Each module has `suite() -> Suite`. Raises UsageError for an unknown name."""
    found: Suite = import_module(module_of(name)).suite()
    return found
