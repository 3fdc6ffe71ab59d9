"""The vocabulary: what a planned test ends as, where it ran and how far it came. Standard library only."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final

FLAKY: Final = 0x80
"""Top bit of a status byte: attempts of the same run disagreed."""

NOT_PLANNED: Final = 0
"""Status byte of a test that is not in a run's plan."""


class Outcome(IntEnum):
    """One outcome a planned test; the codes are for ever and stay below 64."""

    PASS = 1
    FALLBACK = 2
    UNPROVEN = 3
    XFAIL = 4
    XPASS = 5
    SKIP_ELIGIBILITY = 6
    SKIP_ENVIRONMENT = 7
    SKIP_COVERAGE = 8
    SKIP_UNCLASSIFIED = 9
    COMPILE_FAIL = 10
    COMPILE_TIMEOUT = 11
    FAIL = 12
    ERROR = 13
    TIMEOUT = 14
    CRASH = 15
    INFRA = 16
    INVALID = 17
    NOT_RUN = 19

    @property
    def word(self) -> str:
        """The word shown to people and written to every export."""
        return self.name.lower()

    @classmethod
    def from_word(cls, word: str) -> "Outcome":
        """The outcome of that word; ValueError names the word and the choices."""
        try:
            return cls[word.upper()]
        except KeyError:
            choices = ", ".join(each.word for each in cls)
            raise ValueError(f"unknown outcome {word!r}: choose one of {choices}") from None


class RanOn(StrEnum):
    """Where the work of a test was done."""

    DEVICE = "device"
    MIXED = "mixed"
    CPU = "cpu"
    NONE = "none"
    UNKNOWN = "unknown"


class Stage(StrEnum):
    """How far a test or a model came."""

    SETUP = "setup"
    COMPILE = "compile"
    EXECUTE = "execute"
    COMPARE = "compare"
    BACKWARD = "backward"
    TEARDOWN = "teardown"
    BUILD = "build"
    REFERENCE = "reference"
    MOVE = "move"
    FORWARD = "forward"
    STEP = "step"
    COMPILED_FORWARD = "compiled_forward"
    COMPILED_COMPARE = "compiled_compare"
    WARM = "warm"
    DONE = "done"


class Phase(StrEnum):
    """Phases of time, never mixed in one figure; seconds everywhere."""

    SETUP = "setup"
    BUILD = "build"
    COMPILE = "compile"
    COMPILE_WARM = "compile_warm"
    EXECUTE = "execute"
    EXECUTE_WARM = "execute_warm"
    COMPARE = "compare"


class Group(StrEnum):
    """The five words that people use; every other outcome is shown beside them under its own word."""

    PASS = "pass"
    ELIGIBILITY = "skip-by-eligibility"
    COVERAGE = "skip-by-Neuron-coverage"
    FALLBACK = "fallback"
    COMPILE_FAIL = "compile-fail"


GROUPS: Final[Mapping[Outcome, Group]] = {
    Outcome.PASS: Group.PASS,
    Outcome.SKIP_ELIGIBILITY: Group.ELIGIBILITY,
    Outcome.SKIP_COVERAGE: Group.COVERAGE,
    Outcome.FALLBACK: Group.FALLBACK,
    Outcome.COMPILE_FAIL: Group.COMPILE_FAIL,
    Outcome.COMPILE_TIMEOUT: Group.COMPILE_FAIL,
}

NOT_ELIGIBLE: Final = frozenset({Outcome.SKIP_ELIGIBILITY, Outcome.INVALID, Outcome.INFRA})
"""Outcomes taken from the planned tests to get the eligible ones."""


def eligible(counts: Mapping[Outcome, int]) -> int:
    """Tests counted by outcome, less those that do not apply, are unusable, or were lost to the machine."""
    return sum(number for outcome, number in counts.items() if outcome not in NOT_ELIGIBLE)


def right(counts: Mapping[Outcome, int]) -> int:
    """Tests counted by outcome that have the right result, on the device or by falling back."""
    return counts.get(Outcome.PASS, 0) + counts.get(Outcome.FALLBACK, 0)


MILDEST_FIRST: Final = (
    Outcome.NOT_RUN,
    Outcome.INFRA,
    Outcome.PASS,
    Outcome.XFAIL,
    Outcome.UNPROVEN,
    Outcome.FALLBACK,
    Outcome.SKIP_ELIGIBILITY,
    Outcome.SKIP_ENVIRONMENT,
    Outcome.SKIP_COVERAGE,
    Outcome.SKIP_UNCLASSIFIED,
    Outcome.INVALID,
    Outcome.XPASS,
    Outcome.COMPILE_FAIL,
    Outcome.COMPILE_TIMEOUT,
    Outcome.ERROR,
    Outcome.TIMEOUT,
    Outcome.CRASH,
    Outcome.FAIL,
)
"""Badness of an attempt: a silent wrong answer is the worst, a clean refusal the mildest failure."""

BADNESS: Final[Mapping[Outcome, int]] = {each: rank for rank, each in enumerate(MILDEST_FIRST)}


@dataclass(frozen=True, kw_only=True, slots=True)
class TestId:
    """Identity of a planned test: never names the device, the run or the machine.

    `key` is `suite::file::class::name`; the parsed parts are empty where a test has none.
    """

    __test__ = False  # not a test class, whatever pytest makes of the name

    suite: str
    file: str
    cls: str
    name: str
    op: str = ""
    variant: str = ""
    dtype: str = ""
    kind: str = ""

    @property
    def key(self) -> str:
        """The identity as one string, unique within a plan."""
        return f"{self.suite}::{self.file}::{self.cls}::{self.name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """PyTorch's side of a skip or an expected failure: who spoke, the code that did, and where it is written.

    `who` is a word of provenance.rules.Origin. `code` names a decorator, an OpInfo entry or a function; `where` is
    `file:line` below the test tree or the installed package, "" when it is not known. `turned` is the type of an
    exception that was caught and turned into a skip.
    """

    who: str
    code: str = ""
    where: str = ""
    turned: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reached:
    """Names of the ops that ran on the device, and of those that ran on the CPU instead, as the trackers give them."""

    executed: frozenset[str] = frozenset()
    fallback: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """What one attempt at a planned test came to. `seconds` maps Phase words to seconds.

    `source` is upstream's side of a skip or an expected failure, None where upstream decided nothing. `reached` are
    the ops that it took; None where nothing could tell, and in attempts read back from a journal. `leaked` is what it
    left changed for the next test, a line a piece; `alone` that no other test ran in its process. `reused` is the run
    that made the attempt where that was an earlier one, else empty.
    """

    outcome: Outcome
    rule: str = ""
    ran_on: RanOn = RanOn.UNKNOWN
    stage: Stage = Stage.SETUP
    seconds: Mapping[str, float] = field(default_factory=dict)
    message: str = ""
    cause: str = ""
    code: str = ""
    fallback_ops: tuple[str, ...] = ()
    detail: str = ""
    source: Source | None = None
    reached: Reached | None = None
    leaked: tuple[str, ...] = ()
    alone: bool = False
    reused: str = ""


LEAST_ALONE: Final = 2
"""Attempts alone that must agree before a test is called order-dependent: one that differs once is merely flaky."""


def settle(outcomes: Iterable[Outcome]) -> tuple[Outcome, bool]:
    """The outcome that stands for a run's attempts at one test, and whether they disagreed.

    The worst attempt stands. Attempts lost to the machine (infra) or never made (not_run) count only
    when there is no other. No attempt at all is not_run.
    """
    made = list(outcomes)
    real = [each for each in made if each not in (Outcome.INFRA, Outcome.NOT_RUN)]
    if not real:
        return (Outcome.INFRA if Outcome.INFRA in made else Outcome.NOT_RUN), False
    return max(real, key=BADNESS.__getitem__), len(set(real)) > 1


def order_dependent(made: Iterable[tuple[Outcome, bool]]) -> bool:
    """Whether a test ends otherwise alone than among others, told from its attempts: outcome and whether it was alone.

    All attempts among others must agree, and all of at least two alone; those lost to the machine say nothing.
    """
    real = [each for each in made if each[0] not in (Outcome.INFRA, Outcome.NOT_RUN)]
    alone, company = ([outcome for outcome, was in real if was is wanted] for wanted in (True, False))
    return len(alone) >= LEAST_ALONE and len(set(alone)) == len(set(company)) == 1 and alone[0] is not company[0]


def status_byte(outcome: Outcome, flaky: bool) -> int:
    """The byte stored for a test: the outcome's code, the top bit for flaky."""
    return outcome | (FLAKY if flaky else 0)


def outcome_of(status: int) -> tuple[Outcome | None, bool]:
    """The outcome (None: not planned) and the flaky bit of a stored byte."""
    code = status & ~FLAKY
    return (Outcome(code) if code else None), bool(status & FLAKY)
