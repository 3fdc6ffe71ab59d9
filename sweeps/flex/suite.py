"""The suite `flex_attention`: see docs/flex-attention.md."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.plan import PlannedTest, Selection
from conformance.suites import Bench, looked_at


@dataclass(frozen=True, kw_only=True, slots=True)
class FlexAttentionSuite:
    """See `conformance.suites.Suite`. Torch is imported by the methods: naming the suite is cheap."""

    name: str = "flex_attention"
    preload: tuple[str, ...] = ("sweeps.flex.planning", "sweeps.flex.running")

    def warm(self, tests: Sequence[PlannedTest]) -> tuple[str, ...]:  # noqa: ARG002
        """Dynamo's first compilation: eager FlexAttention compiles too."""
        return ("conformance.suites.ops.warm",)

    def collect(self, selection: Selection, target: str, release: str) -> Iterable[PlannedTest]:
        """As `collect_beside`, for looking only: the cases go with the temporary folder."""
        return looked_at(self.collect_beside, selection, target, release)

    def collect_beside(self, selection: Selection, target: str, release: str, folder: Path) -> Iterable[PlannedTest]:
        """Every planned case; what a child needs of each is written to `folder`."""
        from sweeps.flex import planning

        return list(planning.collect(selection, target, release, folder))

    def run(self, tests: Sequence[PlannedTest], bench: Bench) -> None:
        """Run the tests in order, each journalled. Exceptions of a case never leave it."""
        from sweeps.flex import running

        running.run(tests, bench)


def suite() -> FlexAttentionSuite:
    """The suite."""
    return FlexAttentionSuite()
