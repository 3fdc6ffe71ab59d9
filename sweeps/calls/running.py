"""Running planned calls one after another on the device and on the CPU, each to exactly one attempt."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import torch

from conformance import classify
from conformance.outcomes import Attempt, Outcome, RanOn, Stage
from conformance.plan import PlannedTest
from conformance.suites import Bench
from conformance.suites.ops import computing
from conformance.suites.ops.allowances import Allowance
from conformance.suites.ops.compare import MismatchError
from conformance.suites.ops.moving import tensors, to_cpu
from conformance.suites.ops.quiet import quiet
from conformance.suites.ops.samples import Call as Sample
from conformance.suites.ops.statistics import compare_distributions, compare_forms
from conformance.suites.ops.trial import ReferenceFailedError, Trial
from sweeps.calls import files, making
from sweeps.calls.making import NotMadeError
from sweeps.calls.planning import digest_of
from sweeps.calls.specs import Bounds, Call
from sweeps.outputs import ALLOWED, Difference, differences

_EMPTY: Final = frozenset(
    {"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::empty_permuted", "aten::new_empty",
     "aten::new_empty_strided", "aten::resize_"}
)  # fmt: skip
"""Ops whose answer has a form and no values."""


_OTHER_SEED: Final = 12345


def run(tests: Sequence[PlannedTest], bench: Bench) -> None:
    """Run the tests in order and journal each. Only what is meant to end the process leaves this function."""
    with quiet(), torch.no_grad():
        for test in tests:
            number = bench.number(test.key)
            bench.journal.begin(test.key, number)
            bench.journal.end(test.key, _attempted(test, bench), number)


def _attempted(test: PlannedTest, bench: Bench) -> Attempt:
    try:
        call, bounds = _known(test.where)[digest_of(test.id)]
        trial = Trial(
            key=test.key, op=making.overload(call.op), dtype=None, device=bench.device, allowance=Allowance(),
            enter=lambda stage: bench.journal.stage(test.key, stage),
        )  # fmt: skip
        made = attempt(trial, call, bounds)
    except Exception as error:
        return classify.not_prepared(error, "model-ops:not-prepared")
    return classify.apply_expected(made, test.expected)


@lru_cache(maxsize=2)
def _known(folder: str) -> dict[str, tuple[Call, tuple[Bounds, ...]]]:
    found = files.read(Path(folder))
    return {digest: (call, found.bounds.get(digest, ())) for digest, call in found.calls.items()}


def attempt(trial: Trial, call: Call, bounds: Sequence[Bounds]) -> Attempt:
    """Run a call to its attempt. Exceptions of the device become its outcome."""
    try:
        sample = making.made(call, bounds)
    except NotMadeError as error:
        return _ended(trial, Outcome.INVALID, "model-ops:arguments", f"{call.describe()}: {error}")
    try:
        found = _same(trial, call, sample)
    except ReferenceFailedError as error:
        return _ended(trial, Outcome.INVALID, "model-ops:reference-failed", f"{call.describe()}\n{error}")
    except Exception as error:
        return _failed(trial, call, error)
    return _right(trial, call, found)


def _same(trial: Trial, call: Call, sample: Sample) -> list[Difference]:
    """Both answers, arguments that were written to included. Raises MismatchError, or what one side raised."""
    here = sample.moved("cpu")
    want = trial.reference(lambda: (here.on(trial.op), _written(trial.op, here)))
    there = trial.move(sample)
    got = trial.on_device(lambda: (there.on(trial.op), _written(trial.op, there)))
    trial.reach(Stage.COMPARE)
    _see(trial, got, sample)
    return _compared(trial, call, sample, got, want)


def _see(trial: Trial, got: Any, sample: Sample) -> None:
    trial.outputs_on_device = not {each.device.type for each in tensors(got)} - {trial.device.device}
    if not trial.seen.executed and not trial.seen.fallback:
        copy = sample.moved("cpu")
        trial.computes = computing.computes(lambda: copy.on(trial.op))


def _written(op: Any, call: Sample) -> list[Any]:
    """The arguments that the op writes to; in place they are also its answer."""
    given = (call.input, *call.args)
    named = [each.name for each in op._schema.arguments if each.alias_info is not None and each.alias_info.is_write]
    values = {each.name: value for each, value in zip(op._schema.arguments, given, strict=False)} | call.kwargs
    return [values[name] for name in named if isinstance(values.get(name), torch.Tensor)]


def _draws(op: Any, sample: Sample, want: Any) -> bool:
    """Whether the CPU itself answers otherwise for another seed: attention without dropout does not."""
    torch.default_generator.manual_seed(_OTHER_SEED)
    other = sample.moved("cpu").on(op)
    return not all(map(torch.equal, tensors(other), tensors(want[0])))


def _compared(trial: Trial, call: Call, sample: Sample, got: Any, want: Any) -> list[Difference]:
    random = torch.Tag.nondeterministic_seeded in trial.op.tags and _draws(trial.op, sample, want)
    if random or call.base in _EMPTY:
        compare_forms(got, want)
        if random:
            compare_distributions(to_cpu(got), to_cpu(want))
        return []
    if any(type(one) is not type(other) for one, other in zip(_flat(got), _flat(want), strict=True)):
        raise MismatchError(f"another structure than the CPU's\n{_kinds(got)} instead of {_kinds(want)}")
    found = _measured(to_cpu(got), to_cpu(want))
    if wrong := [each for each in found if each.wrong]:
        raise MismatchError(_told(wrong[0], len(wrong), len(found)))
    return found


def _flat(value: Any) -> list[Any]:
    """Every leaf of an answer."""
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in _flat(each)]
    return [value]


def _kinds(value: Any) -> str:
    return ", ".join(type(each).__name__ for each in _flat(value))[:200]


def _measured(got: Any, want: Any) -> list[Difference]:
    found = []
    pairs = zip(_flat(got), _flat(want), strict=True)
    for number, (one, other) in enumerate(each for each in pairs if each[1] is not None):
        one, other = (each if isinstance(each, torch.Tensor) else torch.tensor(each) for each in (one, other))
        name = f"output[{number}]"
        allowed = ALLOWED.get(str(other.dtype).removeprefix("torch."), ALLOWED["float32"])
        found += differences({name: one}, {name: other}, allowed)
    return sorted(found, key=lambda each: -each.relative)


def _told(worst: Difference, wrong: int, number: int) -> str:
    return (
        f"{worst.name} is wrong: {worst.wrong}\n{wrong} of {number} outputs; shape {list(worst.shape)}, norm "
        f"{worst.device:.6g} on the device, {worst.cpu:.6g} on the CPU; worst at {worst.worst}"
    )


def _right(trial: Trial, call: Call, found: list[Difference]) -> Attempt:
    proof = classify.of_proof(
        tracks=trial.device.tracks, executed=trial.seen.executed, fallback=trial.seen.fallback,
        outputs_on_device=trial.outputs_on_device, computes=trial.computes,
    )  # fmt: skip
    worst = max((each.relative for each in found), default=0.0)
    message = f"{call.describe()}; relative L2 {worst:.2g} at most"
    return replace(_ended(trial, proof.outcome, proof.rule, message), ran_on=proof.ran_on)


def _failed(trial: Trial, call: Call, error: Exception) -> Attempt:
    verdict = classify.of_exception(error)
    return replace(
        _ended(trial, verdict.outcome, verdict.rule, f"{verdict.message}\n{call.describe()}"),
        cause=verdict.cause, code=verdict.code, detail=verdict.detail, ran_on=trial.seen.ran_on,
    )  # fmt: skip


def _ended(trial: Trial, outcome: Outcome, rule: str, message: str) -> Attempt:
    return Attempt(
        outcome=outcome, rule=rule, ran_on=RanOn.NONE, stage=trial.stage, seconds=dict(trial.seconds),
        message=message, fallback_ops=trial.seen.fallback_ops, reached=trial.seen.reached,
    )  # fmt: skip
