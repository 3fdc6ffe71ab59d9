"""What a run says of an overload: one word, from the tests that reached it and the tests that are named after it."""

from collections import Counter
from enum import StrEnum
from typing import Final

import msgspec

from conformance.outcomes import Outcome

RIGHT: Final = frozenset({Outcome.PASS, Outcome.FALLBACK, Outcome.UNPROVEN, Outcome.XPASS})
"""Outcomes of tests whose result was right."""
WRONG: Final = frozenset(
    {
        Outcome.XFAIL, Outcome.COMPILE_FAIL, Outcome.COMPILE_TIMEOUT, Outcome.FAIL, Outcome.ERROR, Outcome.TIMEOUT,
        Outcome.CRASH,
    }
)  # fmt: skip
"""Outcomes of tests that asked the device and did not get a right result."""
SKIPPED: Final = frozenset(
    {Outcome.SKIP_ELIGIBILITY, Outcome.SKIP_ENVIRONMENT, Outcome.SKIP_COVERAGE, Outcome.SKIP_UNCLASSIFIED}
)
RAN: Final = RIGHT | WRONG
"""The rest (skips, invalid, infra, not_run) says nothing about what the device can do."""


class Status(StrEnum):
    """What a run says of an overload. Exactly one holds, the first that fits."""

    TESTED = "tested"
    """It ran on the device in a test with a right result."""
    FELL_BACK = "fell_back"
    """Tests with a right result took it, but always on the CPU."""
    ONLY_FAILING = "only_failing"
    """Every test that ran and took it ended without a right result."""
    REACHED_OVERLOAD_UNKNOWN = "reached_overload_unknown"
    """Tests took the op, but the tracker does not tell which of its overloads."""
    NAMED_ONLY = "named_only"
    """Tests named after the op ran, but no tracker saw this overload: it is taken apart before, or another one ran."""
    SKIPPED = "skipped"
    """The tests that name the op, or took it on their way, were skipped."""
    NEVER_TESTED = "never_tested"
    """No test took it, and none that is named after the op came to its end."""
    UNKNOWN = "unknown"
    """The run does not tell which ops its tests took."""


Counts = dict[Outcome, int]
KINDS: Final = ("ran", "fell", "both", "perhaps", "named")
"""The fields of Evidence."""


class Evidence(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Tests by outcome: in which the overload ran on the device, on the CPU, on both; in which it may have run
    (`perhaps`: the tracker gave no overload); and those that are named after its op.
    """

    ran: Counts = {}
    fell: Counts = {}
    both: Counts = {}
    perhaps: Counts = {}
    named: Counts = {}

    @property
    def reached(self) -> Counter[Outcome]:
        """Tests that took exactly this overload, by outcome."""
        return Counter(self.ran) + Counter(self.fell) + Counter(self.both)

    @property
    def by_fallback(self) -> Counter[Outcome]:
        """Those of them in which it ran on the CPU, at least once."""
        return Counter(self.fell) + Counter(self.both)


def status_of(evidence: Evidence, *, told: bool = True) -> Status:
    """The word for an overload; `told` is whether the run records at all what its tests took."""
    if not told:
        return Status.UNKNOWN
    on_device, reached = Counter(evidence.ran) + Counter(evidence.both), evidence.reached
    if RIGHT & on_device.keys():
        return Status.TESTED
    if RIGHT & reached.keys():
        return Status.FELL_BACK
    if WRONG & reached.keys():
        return Status.ONLY_FAILING
    if RAN & evidence.perhaps.keys():
        return Status.REACHED_OVERLOAD_UNKNOWN
    if RAN & evidence.named.keys():
        return Status.NAMED_ONLY
    rest = evidence.named.keys() | reached.keys() | evidence.perhaps.keys()
    return Status.SKIPPED if SKIPPED & rest and Outcome.NOT_RUN not in rest else Status.NEVER_TESTED
