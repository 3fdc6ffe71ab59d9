"""How outcomes and pair classes look: a short text for narrow cells, one sentence, the order in a bar."""

from collections.abc import Mapping
from typing import Final

from conformance.outcomes import Outcome
from conformance.pairs import PairClass

SHORT: Final[Mapping[Outcome, str]] = {
    Outcome.PASS: "pass",
    Outcome.FALLBACK: "fall",
    Outcome.UNPROVEN: "unpr",
    Outcome.XFAIL: "xfail",
    Outcome.XPASS: "xpass",
    Outcome.SKIP_ELIGIBILITY: "n/a",
    Outcome.SKIP_ENVIRONMENT: "env",
    Outcome.SKIP_COVERAGE: "skip",
    Outcome.SKIP_UNCLASSIFIED: "skip?",
    Outcome.COMPILE_FAIL: "comp",
    Outcome.COMPILE_TIMEOUT: "c-out",
    Outcome.FAIL: "FAIL",
    Outcome.ERROR: "error",
    Outcome.TIMEOUT: "t-out",
    Outcome.CRASH: "crash",
    Outcome.INFRA: "infra",
    Outcome.INVALID: "inval",
    Outcome.NOT_RUN: "–",
}
"""At most five characters, for a cell of the matrix."""

MEANING: Final[Mapping[Outcome, str]] = {
    Outcome.PASS: "right result, and nothing left the device",
    Outcome.FALLBACK: "right result, but at least one op ran on the CPU",
    Outcome.UNPROVEN: "right result, but not shown to be the device's work",
    Outcome.XFAIL: "failed, as upstream or our expectations say",
    Outcome.XPASS: "expected to fail, and did not",
    Outcome.SKIP_ELIGIBILITY: "does not apply, by PyTorch's own rules",
    Outcome.SKIP_ENVIRONMENT: "this machine or build lacks something",
    Outcome.SKIP_COVERAGE: "the backend does not claim it",
    Outcome.SKIP_UNCLASSIFIED: "a skip that no rule explains",
    Outcome.COMPILE_FAIL: "the compiler or lowering refused",
    Outcome.COMPILE_TIMEOUT: "compilation passed its time limit",
    Outcome.FAIL: "it ran, and the answer was wrong",
    Outcome.ERROR: "an exception that nobody foresaw",
    Outcome.TIMEOUT: "execution passed its time limit",
    Outcome.CRASH: "the process died, and again when run alone",
    Outcome.INFRA: "the machine, not the test",
    Outcome.INVALID: "the question itself is unusable",
    Outcome.NOT_RUN: "planned, but the run ended first",
}

IN_A_BAR: Final = (
    Outcome.PASS,
    Outcome.FALLBACK,
    Outcome.UNPROVEN,
    Outcome.XPASS,
    Outcome.XFAIL,
    Outcome.COMPILE_FAIL,
    Outcome.COMPILE_TIMEOUT,
    Outcome.ERROR,
    Outcome.TIMEOUT,
    Outcome.CRASH,
    Outcome.FAIL,
    Outcome.SKIP_UNCLASSIFIED,
    Outcome.SKIP_COVERAGE,
    Outcome.SKIP_ENVIRONMENT,
    Outcome.INFRA,
    Outcome.INVALID,
    Outcome.SKIP_ELIGIBILITY,
    Outcome.NOT_RUN,
)
"""From what is right through what is wrong to what was not asked."""

CHANGE: Final[Mapping[PairClass, str]] = {
    PairClass.REGRESSED: "was right, now fails",
    PairClass.WORSE: "failed and fails in a worse way",
    PairClass.FELL_BACK: "ops moved to the CPU",
    PairClass.LOST_COVERAGE: "was claimed and now is not",
    PairClass.LOST_PROOF: "still right, no longer proven",
    PairClass.NOW_FAILS: "was not claimed, now fails",
    PairClass.CHANGED_FAILURE: "fails as before, for another cause",
    PairClass.FALLBACK_CHANGED: "other ops on the CPU than before",
    PairClass.FIXED: "failed, now right",
    PairClass.CAME_HOME: "ops moved back to the device",
    PairClass.GAINED_COVERAGE: "was not claimed, now right",
    PairClass.PROVEN: "right before, now proven",
    PairClass.BETTER: "failed and fails in a milder way",
    PairClass.ADDED: "new in the plan",
    PairClass.REMOVED: "gone from the plan",
    PairClass.TEST_CHANGED: "the test itself changed: not comparable",
    PairClass.NOT_RUN_HERE: "not selected or not run on a side",
    PairClass.INFRA_EITHER: "the machine failed on a side",
    PairClass.ENVIRONMENT_CHANGED: "the environment differs",
    PairClass.ELIGIBILITY_CHANGED: "applies on one side only",
    PairClass.SAME: "no change",
}
"""In the order of a page: what blocks, what else is worse, what is better, what cannot be compared, the rest."""
