"""What was seen of one test while it ran: the material that its outcome is decided from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.classify import Proof
from conformance.outcomes import Reached, Stage
from conformance.plan import PlannedTest
from conformance.provenance.rules import Skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """One report of pytest: a phase of the test, or a subtest of it.

    `word` is pytest's outcome; `foreseen` that pytest speaks of an expected failure (its `wasxfail`); `name` how a
    subtest is told from the others of its test.
    """

    stage: Stage
    word: str
    error: BaseException | None
    foreseen: str | None = None
    subtest: bool = False
    name: str = ""
    text: str = ""
    printed: str = ""


@dataclass(kw_only=True, slots=True)
class Evidence:
    """Collected while a test is open, and dropped when it ends: it keeps tracebacks and with them tensors alive."""

    planned: PlannedTest
    seen: list[Seen] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    skipped_here: bool = False
    """The plugin itself skipped the test, by a coverage entry."""
    expected_failure: BaseException | None = None
    unexpected_success: bool = False
    late: BaseException | None = None
    """An error that only synchronising with the device brought up."""
    proof: Proof | None = None
    fallback: frozenset[str] = frozenset()
    reached: Reached | None = None
    running: bool = False
    leaked: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def stage(self) -> Stage:
        """How far the test came."""
        return self.seen[-1].stage if self.seen else Stage.SETUP

    def times(self) -> Mapping[str, float]:
        """Seconds by phase."""
        return self.seconds
