"""Running planned tests of the suite `ops`, one after another, each to exactly one attempt."""

import shlex
import unittest
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import torch

from conformance import classify, expectations
from conformance.outcomes import Attempt, Outcome, RanOn, Stage, TestId
from conformance.plan import PlannedTest
from conformance.suites import Bench
from conformance.suites.ops import catalogue
from conformance.suites.ops.allowances import allowance
from conformance.suites.ops.kinds import KINDS, Case
from conformance.suites.ops.quiet import quiet
from conformance.suites.ops.trial import ReferenceFailedError, Trial
from conformance.targets import Device


@cache
def case_function(kind: str) -> Case:
    """The function that asks a kind's question; it raises unless the device is right."""
    module, _, name = KINDS[kind].case.partition(":")
    found: Case = getattr(import_module(module), name)
    return found


def run(tests: Sequence[PlannedTest], bench: Bench) -> None:
    """Run the tests in order and journal each. Only what is meant to end the process leaves this function."""
    with quiet():
        for test in tests:
            number = bench.number(test.key)
            bench.journal.begin(test.key, number)

            bench.journal.end(test.key, _attempted(test, bench), number)


def _attempted(test: PlannedTest, bench: Bench) -> Attempt:
    place = shlex.join(["--target", bench.target, "--release", bench.release])
    try:
        trial = prepare(
            test.id, bench.device, enter=lambda stage: bench.journal.stage(test.key, stage), only=bench.sample,
            claimed=_claimed(test, bench), place=place,
        )  # fmt: skip
    except Exception as error:
        return classify.not_prepared(error, "ops:not-prepared")
    return classify.apply_expected(attempt(trial, test.id.kind), test.expected)


def prepare(
    test: TestId,
    device: Device,
    *,
    enter: Callable[[Stage], None] = lambda _: None,
    only: int | None = None,
    claimed: frozenset[str] = frozenset(),
    place: str = "",
) -> Trial:
    """A trial for one test; `case_function(kind)(trial)` runs it bare."""
    op = catalogue.by_name()[test.cls]
    return Trial(
        key=test.key, op=op, dtype=getattr(torch, test.dtype) if test.dtype else None, device=device,
        allowance=allowance(op, test.kind), only=only, enter=enter, claimed=claimed, place=place,
    )  # fmt: skip


def _claimed(test: PlannedTest, bench: Bench) -> frozenset[str]:
    """The dtypes that the backend claims for the op: PyTorch's, less those that its coverage file leaves out."""
    if KINDS[test.id.kind].per_dtype:
        return frozenset()
    coverage = expectations.load(bench.target, bench.release)
    names = map(catalogue.short, catalogue.by_name()[test.id.cls].supported_dtypes("cpu"))
    forward = (replace(test.id, file="forward", name=name, dtype=name, kind="forward") for name in names)
    return frozenset(each.dtype for each in forward if coverage.claims(each))


def attempt(trial: Trial, kind: str) -> Attempt:
    """Run a trial to its attempt. Exceptions of the test become its outcome."""
    try:
        case_function(kind)(trial)
    except unittest.SkipTest as skip:
        return _ended(trial, Outcome.SKIP_ENVIRONMENT, "ops:generator-skip", message=str(skip))
    except ReferenceFailedError as error:
        return _ended(trial, Outcome.INVALID, "ops:reference-failed", message=_located(trial, str(error)))
    except Exception as error:
        return _failed(trial, error)
    return _right(trial)


def _right(trial: Trial) -> Attempt:
    if trial.only is not None and trial.only >= trial.made > 0:
        why = f"there is no sample {trial.only}: this test has {trial.made}, numbered from 0"
        return _ended(trial, Outcome.INVALID, "ops:no-such-sample", message=why)
    if not trial.tried:
        return _ended(
            trial, Outcome.SKIP_ELIGIBILITY, "ops:no-samples", message="PyTorch makes no sample for this test"
        )
    proof = classify.of_proof(
        tracks=trial.device.tracks, executed=trial.seen.executed, fallback=trial.seen.fallback,
        outputs_on_device=trial.outputs_on_device, computes=trial.computes,
    )  # fmt: skip
    if trial.compiled_nodes is not None:
        proof = classify.of_compiled(proof, trial.compiled_nodes)
    return replace(_ended(trial, proof.outcome, proof.rule, message=trial.note), ran_on=proof.ran_on)


def _failed(trial: Trial, error: Exception) -> Attempt:
    verdict = classify.of_exception(error)
    return replace(
        _ended(trial, verdict.outcome, verdict.rule, message=_located(trial, verdict.message)),
        cause=verdict.cause, code=verdict.code, detail=verdict.detail, ran_on=trial.seen.ran_on,
    )  # fmt: skip


def _ended(trial: Trial, outcome: Outcome, rule: str, message: str = "") -> Attempt:
    return Attempt(
        outcome=outcome, rule=rule, ran_on=RanOn.NONE, stage=trial.stage, seconds=dict(trial.seconds),
        message=message, fallback_ops=trial.seen.fallback_ops, reached=trial.seen.reached,
    )  # fmt: skip


def _located(trial: Trial, message: str) -> str:
    """The message with the sample that it is about and how to run that one alone."""
    if trial.sample is None:
        return message
    index, text = trial.sample
    note = f" ({trial.note})" if trial.note else ""
    alone = " ".join(filter(None, ("conformance repro", shlex.quote(trial.key), trial.place, f"--sample {index}")))
    return f"{message}\nsample {index}{note}: {text}\nalone: {alone}"


def run_case(test: TestId, device: Device, **options: Any) -> Attempt:
    """Run one test without a journal or a plan, as `prepare` and `attempt` do."""
    with quiet():
        return attempt(prepare(test, device, **options), test.kind)
