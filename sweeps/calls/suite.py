"""The suite `model_ops`: the distinct aten calls of models as tests of ops."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.plan import MODEL_OPS, PlannedTest, Selection
from conformance.suites import Bench, looked_at


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelOpsSuite:
    """See `conformance.suites.Suite`. Torch and transformers are imported by the methods: naming the suite is cheap."""

    name: str = MODEL_OPS
    preload: tuple[str, ...] = ("sweeps.calls.running",)

    def warm(self, tests: Sequence[PlannedTest]) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing further."""
        return ()

    def collect(self, selection: Selection, target: str, release: str) -> Iterable[PlannedTest]:
        """As `collect_beside`, for looking only: the calls go with the temporary folder."""
        return looked_at(self.collect_beside, selection, target, release)

    def collect_beside(self, selection: Selection, target: str, release: str, folder: Path) -> Iterable[PlannedTest]:
        """Every planned call; the calls and which model makes which are written to `folder`. Raises UsageError."""
        from sweeps import running
        from sweeps.calls import planning

        with running.quiet():
            return list(planning.collect(selection, target, release, folder))

    def run(self, tests: Sequence[PlannedTest], bench: Bench) -> None:
        """Run the tests in order, each journalled. Exceptions of a call never leave it."""
        from sweeps.calls import running

        running.run(tests, bench)


def suite() -> ModelOpsSuite:
    """The suite."""
    return ModelOpsSuite()
