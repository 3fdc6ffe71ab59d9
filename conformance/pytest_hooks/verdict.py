"""From the evidence of one test to its attempt. Failures come first, then what was expected, skips, and proof last."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import pytest

from conformance import classify
from conformance.classify import Verdict
from conformance.outcomes import BADNESS, Attempt, Outcome, RanOn, Source, Stage
from conformance.plan import Decision, Expected
from conformance.provenance.guards import SWALLOWED
from conformance.provenance.rules import NO_RULE, Origin, Skip, explain
from conformance.pytest_hooks import subtests, wider
from conformance.pytest_hooks.evidence import Evidence, Seen

UNREADABLE: Final = "unreadable"
"""Rule of tests whose exceptions or reasons cannot be read."""

_XFAIL_CALL: Final = "upstream:xfail-call"
"""Rule of tests that called pytest.xfail."""

_TIMED_OUT: Final = ("Timeout (>", "Timeout >")
"""How pytest-timeout words the failure that it raises in a test."""
_PYTEST: Final = ("/_pytest/", "/pluggy/", "/conformance/pytest_hooks/")
_NOT_FAILED: Final = "expected test to fail, but it passed"
"""What PyTorch's own expectedFailure says when there was nothing to swallow."""


def judged(evidence: Evidence) -> Attempt:
    """The attempt that the evidence amounts to; `error` where the evidence itself cannot be read.

    Exceptions and reasons are a test's own objects, which may do anything when they are looked at.
    """
    try:
        return attempt_of(evidence)
    except Exception as error:
        found = classify.of_exception(error)
        return Attempt(
            outcome=Outcome.ERROR, rule=UNREADABLE, ran_on=_where(evidence), stage=evidence.stage,
            message=found.message, cause=found.cause, detail=found.detail, seconds=evidence.seconds,
        )  # fmt: skip


def attempt_of(evidence: Evidence) -> Attempt:
    """The attempt that the evidence amounts to."""
    attempt = _raw(evidence)
    expected = evidence.planned.expected
    if expected is not None and expected.rule != SWALLOWED and not _settled(evidence) and _may_be(expected, attempt):
        attempt = classify.apply_expected(attempt, expected)
    ops = tuple(sorted(evidence.fallback))
    return replace(
        attempt, seconds=evidence.seconds, fallback_ops=ops, source=attempt.source or _foresaw(attempt, evidence)
    )


def _may_be(expected: Expected, attempt: Attempt) -> bool:
    """Whether an outcome may be the one foreseen: upstream's decorators speak of the test's own function alone."""
    around = attempt.stage in (Stage.SETUP, Stage.TEARDOWN)
    return not (expected.rule.startswith("upstream:") and around)


def _foresaw(attempt: Attempt, evidence: Evidence) -> Source | None:
    """Who foresaw the failure."""
    if attempt.outcome not in (Outcome.XFAIL, Outcome.XPASS):
        return None
    if evidence.planned.expected is not None:
        return evidence.planned.expected.source
    called = attempt.rule == _XFAIL_CALL
    return Source(who=Origin.BODY if called else Origin.MARKER, code="pytest.xfail" if called else "pytest.mark.xfail")


def _settled(evidence: Evidence) -> bool:
    """Whether unittest or pytest itself already told an expected failure or an unexpected success."""
    return evidence.unexpected_success or any(each.foreseen is not None for each in evidence.seen)


def _raw(evidence: Evidence) -> Attempt:
    failures = [(each, verdict_of(each.error, each.text)) for each in evidence.seen if _failed(each, evidence)]
    if evidence.late is not None:
        late = Seen(stage=Stage.EXECUTE, word="failed", error=evidence.late)
        failures.append((late, verdict_of(evidence.late, "")))
    if failures:
        return _failure(failures, evidence)
    if _settled(evidence):
        return _foreseen(evidence)
    if any(each.word == "skipped" and not each.subtest for each in evidence.seen):
        return _skip(evidence)
    return _right(evidence)


def _failed(seen: Seen, evidence: Evidence) -> bool:
    if seen.word != "failed" or wider.alone(seen):
        return False
    # unittest's unexpected success reaches pytest as a failure of pytest's own kind.
    return not (evidence.unexpected_success and isinstance(seen.error, pytest.fail.Exception))


def verdict_of(error: BaseException | None, text: str) -> Verdict:
    """What an exception means, pytest's own ways to fail included."""
    error = wider.own(error)
    if error is None:
        first = text.strip().splitlines()[0] if text.strip() else "failed without an exception"
        return Verdict(outcome=Outcome.FAIL, rule="report", message=first, cause=first, detail=text)
    found = classify.of_exception(error)
    if not isinstance(error, pytest.fail.Exception):
        return found
    if str(error.msg or "").startswith(_TIMED_OUT):
        return replace(found, outcome=Outcome.TIMEOUT, rule="pytest-timeout")
    if _by_pytest(error):
        return replace(found, outcome=Outcome.ERROR, rule="pytest")
    return replace(found, outcome=Outcome.FAIL, rule="assertion")


def _by_pytest(error: BaseException) -> bool:
    """Whether pytest gave the test up by itself, without any code of the test: a broken marker, a coroutine."""
    trace = error.__traceback__
    while trace is not None:
        if not any(part in trace.tb_frame.f_code.co_filename for part in _PYTEST):
            return False
        trace = trace.tb_next
    return True


def _failure(failures: list[tuple[Seen, Verdict]], evidence: Evidence) -> Attempt:
    seen, found = _telling(failures)
    if evidence.planned.expected and evidence.planned.expected.rule == SWALLOWED and _NOT_FAILED in found.message:
        return Attempt(outcome=Outcome.XPASS, rule=SWALLOWED, ran_on=_where(evidence), stage=seen.stage)
    counted = subtests.counted(failures, evidence.seen)
    more = len(failures) > 1
    printed = f"\n{seen.printed}" if seen.printed else ""
    return Attempt(
        outcome=found.outcome, rule=found.rule, ran_on=_where(evidence), stage=stage_of(seen), cause=found.cause,
        message=f"{counted}\n{found.message}" if counted else found.message, code=found.code,
        detail=subtests.detailed(failures) if counted or more else found.detail + printed,
    )  # fmt: skip


def _telling(failures: list[tuple[Seen, Verdict]]) -> tuple[Seen, Verdict]:
    """The failure that the outcome is made of: the machine's, else of subtests the worst, else the first in time.

    What fails after the first failure of a test, such as its tear-down, may well be a consequence.
    """
    infra = [each for each in failures if each[1].outcome is Outcome.INFRA]
    if infra:
        return infra[0]
    if any(each.subtest for each, _ in failures):
        return max(failures, key=lambda each: BADNESS[each[1].outcome])
    return failures[0]


_UNITTEST_STAGES: Final = {"_callSetUp": Stage.SETUP, "_callTearDown": Stage.TEARDOWN, "_callCleanup": Stage.TEARDOWN}
"""unittest's own frames: it sets up and tears down inside what pytest calls the test's body."""


def stage_of(seen: Seen) -> Stage:
    """Where a failure was raised."""
    trace = seen.error.__traceback__ if seen.error is not None else None
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name in _UNITTEST_STAGES and code.co_filename.endswith("case.py"):
            return _UNITTEST_STAGES[code.co_name]
        trace = trace.tb_next
    return seen.stage


def _foreseen(evidence: Evidence) -> Attempt:
    """An expected failure or an unexpected success that unittest or pytest told."""
    told = next((each for each in evidence.seen if each.foreseen is not None), None)
    rule = evidence.planned.expected.rule if evidence.planned.expected else "upstream:xfail-marker"
    if told is None or told.word != "skipped":
        reason = (told.foreseen if told else "") or ""
        return Attempt(
            outcome=Outcome.XPASS, rule=rule, ran_on=_where(evidence), stage=Stage.EXECUTE, message=reason
        )  # fmt: skip
    if told.stage is Stage.SETUP and "[NOTRUN]" in (told.foreseen or ""):
        return _skipped(Skip(origin=Origin.MARKER, reason=told.foreseen or ""), told.stage)
    error = evidence.expected_failure or told.error
    if error is None or isinstance(error, pytest.xfail.Exception):
        message = told.foreseen or ""
        rule = rule if evidence.planned.expected else _XFAIL_CALL
        return Attempt(
            outcome=Outcome.XFAIL, rule=rule, ran_on=_where(evidence), stage=told.stage, message=message, cause=message
        )  # fmt: skip
    found = verdict_of(error, "")
    outcome = Outcome.INFRA if found.outcome is Outcome.INFRA else Outcome.XFAIL
    return Attempt(
        outcome=outcome, rule=rule, ran_on=_where(evidence), stage=told.stage, message=found.message,
        cause=found.cause, code=found.code, detail=found.detail,
    )  # fmt: skip


def _skip(evidence: Evidence) -> Attempt:
    seen = next(each for each in evidence.seen if each.word == "skipped" and not each.subtest)
    if evidence.skipped_here and evidence.planned.decided is not None:
        return _decided(evidence.planned.decided)
    return _skipped(evidence.skips[0], seen.stage) if evidence.skips else _skipped(_unseen(seen), seen.stage)


def _unseen(seen: Seen) -> Skip:
    return Skip(origin=Origin.ELSEWHERE, reason=str(seen.error or seen.text))


def _decided(decision: Decision) -> Attempt:
    return Attempt(
        outcome=decision.outcome, rule=decision.rule, ran_on=RanOn.NONE, message=decision.reason, source=decision.source
    )  # fmt: skip


def _skipped(skip: Skip, stage: Stage) -> Attempt:
    outcome, rule = explain(skip)
    before = skip.origin not in (Origin.BODY, Origin.BACKEND, Origin.ELSEWHERE)
    stage = Stage.SETUP if before else stage
    note = f" (raised in {skip.function})" if rule == NO_RULE else ""
    return Attempt(
        outcome=outcome, rule=rule, ran_on=RanOn.NONE, stage=stage, message=skip.reason + note, source=skip.source
    )  # fmt: skip


def _right(evidence: Evidence) -> Attempt:
    if evidence.planned.expected and evidence.planned.expected.rule == SWALLOWED:
        return Attempt(outcome=Outcome.XFAIL, rule=SWALLOWED, ran_on=_where(evidence), stage=Stage.EXECUTE)
    if evidence.proof is None:
        return Attempt(outcome=Outcome.UNPROVEN, rule="not-executed", ran_on=RanOn.UNKNOWN, stage=evidence.stage)
    proof = evidence.proof
    attempt = Attempt(outcome=proof.outcome, rule=proof.rule, ran_on=proof.ran_on, stage=Stage.EXECUTE)
    left_out = _reasons(evidence.seen)
    if left_out and (attempt.outcome is Outcome.PASS or proof.rule == "nothing-executed"):
        return replace(attempt, outcome=Outcome.UNPROVEN, rule="subtest-skipped", message=left_out)
    return attempt


def _reasons(seen: Iterable[Seen]) -> str:
    """The texts of the subtests that were skipped."""
    return "; ".join(
        str(each.error or each.text or "skipped") for each in seen if each.subtest and each.word == "skipped"
    )


def _where(evidence: Evidence) -> RanOn:
    return evidence.proof.ran_on if evidence.proof is not None else RanOn.UNKNOWN
