"""The built-in suite `ops`: PyTorch's operator database, every dtype, the kinds of question that decide conformance."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conformance.plan import PlannedTest, Selection
from conformance.suites import Bench


@dataclass(frozen=True, kw_only=True, slots=True)
class OpsSuite:
    """See `conformance.suites.Suite`. Torch is imported by the methods, so that naming the suite costs nothing."""

    name: str = "ops"
    preload: tuple[str, ...] = (
        "conformance.suites.ops.runner",
        "conformance.suites.ops.catalogue",
    )

    def warm(self, tests: Sequence[PlannedTest]) -> tuple[str, ...]:
        """Dynamo's first compilation, where any of the tests compiles."""
        return ("conformance.suites.ops.warm",) if any(test.id.kind == "compiled" for test in tests) else ()

    def collect(self, selection: Selection, target: str, release: str) -> Iterable[PlannedTest]:
        """Every (OpInfo, dtype, kind) of the selection, nothing executed. Raises UsageError for an unknown op."""
        from conformance.suites.ops import planning

        return planning.collect(selection, target, release)

    def run(self, tests: Sequence[PlannedTest], bench: Bench) -> None:
        """Run the tests in order, each journalled. Exceptions of a test never leave it."""
        from conformance.suites.ops import runner

        runner.run(tests, bench)


def suite() -> OpsSuite:
    """The suite."""
    return OpsSuite()
