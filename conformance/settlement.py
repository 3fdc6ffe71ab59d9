"""From a planned test's attempts to the outcome that stands: what probing found, and foreseen deaths."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from conformance.outcomes import Attempt, Outcome, settle
from conformance.plan import Decision, PlannedTest

RIGHT: Final = frozenset({Outcome.PASS, Outcome.FALLBACK, Outcome.UNPROVEN})
"""Outcomes with a right result."""

_ENDINGS: Final = frozenset({Outcome.CRASH, Outcome.TIMEOUT, Outcome.COMPILE_TIMEOUT})
"""Failures that an expectation must name to foresee them; known only when all attempts are over."""
_LONGEST: Final = 400
"""Characters of a probe's message that are kept beside the entry's reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """The outcome that stands for a test, whether its attempts disagreed, and the attempt that is shown."""

    outcome: Outcome
    flaky: bool
    shown: Attempt


def standing(test: PlannedTest, outcome: Outcome) -> Outcome:
    """What an outcome of the attempts counts as."""
    if test.probed is not None:
        return outcome if outcome in RIGHT or outcome is Outcome.NOT_RUN else test.probed.outcome
    return Outcome.XFAIL if _foreseen(test, outcome) else outcome


def _foreseen(test: PlannedTest, outcome: Outcome) -> bool:
    return test.expected is not None and outcome in _ENDINGS and test.expected.outcome is outcome


def settled(test: PlannedTest, attempts: Sequence[Attempt]) -> Settled:
    """The outcome of a test that was started. All attempts stay what they were; only what stands for them changes.

    A probed test whose result is not right keeps the skip of its entry, whatever befell it: the totals are those of
    a run without probing.
    """
    outcome, flaky = settle(each.outcome for each in attempts)
    shown = next((each for each in attempts if each.outcome is outcome), Attempt(outcome=outcome))
    if test.probed is not None and outcome is not Outcome.NOT_RUN:
        return _probed(test.probed, outcome, flaky, shown)
    if test.expected is not None and _foreseen(test, outcome):
        foreseen = replace(shown, outcome=Outcome.XFAIL, rule=test.expected.rule)
        return Settled(outcome=Outcome.XFAIL, flaky=flaky, shown=foreseen)
    return Settled(outcome=outcome, flaky=flaky, shown=shown)


def _probed(decision: Decision, outcome: Outcome, flaky: bool, shown: Attempt) -> Settled:
    if outcome in RIGHT:
        note = f"probed: the result is right, and {decision.rule} would have skipped this test"
        message = "\n".join(filter(None, (shown.message, note)))
        return Settled(outcome=outcome, flaky=flaky, shown=replace(shown, message=message))
    found = f"probed: {outcome.word}: {shown.message or shown.rule}"[:_LONGEST].strip(": ")
    kept = Attempt(
        outcome=decision.outcome, rule=decision.rule, ran_on=shown.ran_on, stage=shown.stage, seconds=shown.seconds,
        message="\n".join(filter(None, (decision.reason, found))),
    )  # fmt: skip
    return Settled(outcome=decision.outcome, flaky=False, shown=kept)


def stale(test: PlannedTest, outcome: Outcome) -> bool:
    """Whether a test ended right, though an entry would have skipped it or foresaw its failure."""
    return outcome is Outcome.XPASS if test.probed is None else outcome in RIGHT
