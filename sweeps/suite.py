"""The suite `models`: reduced Hugging Face models, each signature once for each mode and dtype."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.plan import PlannedTest, Selection
from conformance.suites import Bench, Unstarted, looked_at


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelsSuite:
    """See `conformance.suites.Suite`. Torch and transformers are imported by the methods: naming the suite is cheap."""

    name: str = "models"
    preload: tuple[str, ...] = ("sweeps.warm", "sweeps.running", "sweeps.planning")

    def warm(self, tests: Sequence[PlannedTest]) -> tuple[str, ...]:
        """What compiles for the first time in a process imports much: once for all of them."""
        return ("conformance.suites.ops.warm", "sweeps.twice") if self.apart(tests) else ()

    def collect(self, selection: Selection, target: str, release: str) -> Iterable[PlannedTest]:
        """As `collect_beside`, for looking only: the signatures go with the temporary folder."""
        return looked_at(self.collect_beside, selection, target, release)

    def collect_beside(self, selection: Selection, target: str, release: str, folder: Path) -> Iterable[PlannedTest]:
        """Every planned test; signatures and the attribution of ids are written to `folder`. Raises UsageError."""
        from sweeps import planning, running

        with running.quiet():
            return list(planning.collect(selection, target, release, folder))

    def run(self, tests: Sequence[PlannedTest], bench: Bench) -> None:
        """Run the tests in order, each journalled. Exceptions of a model never leave it."""
        from sweeps import running

        running.run(tests, bench)

    def apart(self, tests: Sequence[PlannedTest]) -> Sequence[PlannedTest]:
        """Those of mode `compile`: a second process is to find what the first one compiled."""
        return [test for test in tests if test.id.kind == "compile"]

    def run_apart(self, tests: Sequence[PlannedTest], unstarted: Unstarted) -> int:
        """Run them in processes of their own."""
        from sweeps import twice

        return twice.run(tests, unstarted)


def suite() -> ModelsSuite:
    """The suite."""
    return ModelsSuite()
