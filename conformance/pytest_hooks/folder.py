"""The folder that a pytest session records its run in, and what the terminal says about it."""

import os
import platform
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Self

import msgspec

from conformance import expectations, plan, record, settings
from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.plan import PlannedTest, RunHeader, Selection
from conformance.pytest_hooks import tree_files
from conformance.pytest_hooks.activation import Chosen
from conformance.pytest_hooks.identity import SUITE
from conformance.record import RunFolder
from conformance.targets import Device


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """What one process collected. `part` is set when some of a file's tests were left out, by -k, -m or a node id."""

    tests: list[PlannedTest]
    environment: dict[str, str]
    part: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A run that pytest drives: plan and header are written before the first test, journals while it goes."""

    folder: RunFolder
    chosen: Chosen
    name: str
    started: float

    @classmethod
    def new(cls, chosen: Chosen, path: str | None) -> Self:
        """A run in a new folder, or in the given one. Raises UsageError when that holds a run, or cannot be."""
        now = time.time()
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
        release = chosen.release.removeprefix(f"{chosen.target.name}-")
        name = f"{chosen.target.name}-{release}-{stamp}-{os.urandom(2).hex()}"
        where = Path(path) if path else settings.load().runs / name
        folder = RunFolder(path=where.absolute())
        if folder.header.exists() or any(folder.journals.glob("*.jsonl")):
            raise UsageError(f"{where} already holds a run: name another folder with --conformance-run, or none")
        try:
            folder.journals.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{where} cannot be written ({error.strerror}): name another folder with --conformance-run, or set "
                "CONFORMANCE_HOME"
            ) from error
        return cls(folder=folder, chosen=chosen, name=name, started=now)

    def begin(self, collected: Collected, files: Iterable[str]) -> None:
        """Write plan and header. Raises UsageError when two tests have one identity."""
        keys = tuple(each.key for each in collected.tests) if collected.part else ()
        prints = {"torch": version("torch"), "target": self.chosen.target.name, "release": self.chosen.release}
        told, places = expectations.Chosen.of_environment().digest(), {Path(each.where) for each in collected.tests}
        header = RunHeader(
            run=self.name, target=self.chosen.target.name, release=self.chosen.release,
            simulated=self.chosen.target.simulated,
            selection=Selection(suites=(SUITE,), tests=tuple(files), keys=keys),
            plan_digest=plan.digest(collected.tests), planned=len(collected.tests), started=self.started,
            fingerprint={**prints, "expectation files": told},
            environment=collected.environment | tree_files.facts(places), supervised=False,
        )  # fmt: skip
        self.folder.create(header, collected.tests)

    def summary(self) -> list[str]:
        """Lines for the terminal: which run, its outcomes, where it is and how to store it."""
        if not self.folder.header.exists():
            return [f"nothing was recorded in {self.folder.path}: there is no plan"]
        found = record.counts(record.read_results(self.folder))
        label = " (SIMULATION)" if self.chosen.target.simulated else ""
        return [
            f"run {self.name} on target {self.chosen.target.name}, release {self.chosen.release}{label}",
            f"{sum(found.values())} planned: {', '.join(_counted(found)) or 'nothing'}",
            f"recorded in {self.folder.path}",
            f"store it with: conformance ingest {self.folder.path}",
        ]


def _counted(found: Mapping[Outcome, int]) -> list[str]:
    return [f"{found[each]} {each.word}" for each in Outcome if found[each]]


def survey(device: Device, path: Path, tests: Iterable[PlannedTest]) -> dict[str, str]:
    """Write into a run's folder how the device serves the aten overloads; what to record when it cannot be asked."""
    from conformance.inventory import dispatcher

    try:
        found = msgspec.json.encode(dispatcher.survey(device, {each.id.op for each in tests}))
    except Exception as error:
        # A torch that cannot be asked costs a run its inventory and nothing else.
        return {"inventory": f"not taken: {type(error).__name__}: {error}".splitlines()[0]}
    RunFolder(path=path).overloads.write_bytes(found)
    return {}


def environment(device: Mapping[str, str]) -> dict[str, str]:
    """Versions, and the values of the device's variables."""
    packages = {name: version(name) for name in ("torch", "numpy", "pytest", "pytest-xdist")}
    return {
        "python": platform.python_version(),
        **packages,
        **device,
        **expectations.Chosen.of_environment().facts(),
        "driver": "pytest",
    }
