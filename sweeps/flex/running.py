"""Running planned cases one after another, each to exactly one attempt."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import torch
from msgspec.structs import replace
from torch.nn.attention.flex_attention import BlockMask

from conformance import classify
from conformance.outcomes import BADNESS, Attempt, Outcome, Phase, RanOn, Stage
from conformance.plan import PlannedTest
from conformance.suites import Bench
from conformance.suites.ops.quiet import quiet
from sweeps.flex import cases, device_list, facts, parts, reference
from sweeps.flex.cases import Case
from sweeps.flex.comparing import ALLOWED
from sweeps.flex.facts import Facts, Part
from sweeps.flex.questions import Question, questions
from sweeps.flex.trial import COMPILED, Asked, Trial, Watched

NO_BACKWARD = "flex-no-backward"
"""PyTorch's FlexAttention has no gradients on this device of its list: 2.13 says so of the CPU."""


_RIGHT = frozenset({Outcome.PASS, Outcome.FALLBACK, Outcome.UNPROVEN})


class EndedError(Exception):
    """A part that leaves nothing to do for the others."""

    def __init__(self, part: Part) -> None:
        super().__init__(part.message)
        self.part = part


def run(tests: Sequence[PlannedTest], bench: Bench) -> None:
    """Run the tests in order and journal each. Only what is meant to end the process leaves this function."""
    with quiet():
        for test in tests:
            number = bench.number(test.key)
            bench.journal.begin(test.key, number)
            bench.journal.end(test.key, _attempted(test, bench, number), number)


def _attempted(test: PlannedTest, bench: Bench, number: int) -> Attempt:
    try:
        case = _cases(test.where)[test.key]
        if case.extended:
            device_list.extend(bench.device.device)
        else:
            device_list.restore()
        trial = Trial(
            case=case, device=bench.device, enter=lambda stage: bench.journal.stage(test.key, stage),
            keep=lambda found: facts.append(Path(test.where).parent, found),
            facts=Facts(
                key=test.key, number=number, compile_limit=case.compile_limit, allowed=ALLOWED[case.dtype],
                extended=case.extended,
            ),
        )  # fmt: skip
        made = attempt(trial)
        trial.keep(trial.facts)
    except Exception as error:
        return classify.not_prepared(error, "flex:not-prepared")
    return classify.apply_expected(made, test.expected)


@lru_cache(maxsize=2)
def _cases(path: str) -> dict[str, Case]:
    return cases.read(Path(path))


def attempt(trial: Trial) -> Attempt:
    """Run a trial to its attempt: the worst of its parts stands, and all are told of."""
    with torch.enable_grad():
        try:
            wanted = trial.timed(
                Phase.COMPARE, lambda: [(each, reference.answer(each)) for each in questions(trial.case)]
            )
        except Exception as error:
            found = classify.of_exception(error)
            why = f"the dense computation fails: {found.message}"
            return Attempt(outcome=Outcome.INVALID, rule="flex:reference-failed", ran_on=RanOn.NONE, message=why)
        try:
            _judge(trial, wanted)
        except EndedError as last:
            trial.facts.parts.append(last.part)
    return _worst(trial)


def _judge(trial: Trial, wanted: Sequence[tuple[Question, dict[str, torch.Tensor]]]) -> None:
    asked: list[Asked] = []
    made: list[BlockMask | None] = []

    def build(watched: Watched) -> None:
        where = trial.device.device
        for question, want in wanted:
            placed = trial.timed(Phase.SETUP, lambda: question.placed(where))  # noqa: B023  # called at once
            asked.append(Asked(question=question, want=want, placed=placed))
        made.extend(parts.masks(trial, watched, asked))

    first = _part(trial, "mask", build)
    if len(made) < len(wanted):
        raise EndedError(first)
    if any(each is not None for each in made):
        trial.facts.parts.append(first)
    trial.facts.parts.append(_part(trial, "eager", lambda watched: parts.eager(trial, watched, asked, made)))
    # A compiler that takes too long ends this process: what is known by now is not lost with it.
    trial.keep(trial.facts)
    trial.facts.parts.append(_part(trial, COMPILED, lambda watched: parts.compiled(trial, watched, asked, made)))


def _part(trial: Trial, name: str, work: Callable[[Watched], None]) -> Part:
    """One part, judged. Raises EndedError when PyTorch refuses the device, or gradients on it: nothing can be asked."""
    watched = Watched(trial=trial, name=name)
    try:
        work(watched)
    except Exception as error:
        part = watched.failed(error)
        if device_list.refuses_device(error):
            raise EndedError(_ruled(part, Outcome.ERROR, device_list.RULE)) from error
        if device_list.refuses_backward(error):
            raise EndedError(_ruled(part, Outcome.SKIP_ELIGIBILITY, NO_BACKWARD)) from error
        return part
    return watched.judged()


def _ruled(part: Part, outcome: Outcome, rule: str) -> Part:
    return replace(part, outcome=outcome.word, rule=rule)


def _worst(trial: Trial) -> Attempt:
    done = trial.facts.parts
    worst = max(done, key=lambda part: BADNESS[Outcome.from_word(part.outcome)])
    outcome = Outcome.from_word(worst.outcome)
    # Tables show the first line.
    told = [worst, *(part for part in done if part is not worst)]
    return Attempt(
        outcome=outcome, rule=worst.rule, ran_on=_ran_on(trial, done),
        stage=trial.stage if outcome in _RIGHT else Stage(worst.stage), seconds=dict(trial.facts.seconds),
        cause=worst.cause, code=worst.code, detail=worst.detail,
        fallback_ops=trial.seen.fallback_ops, reached=trial.seen.reached,
        message="\n".join(f"{part.name}: {part.outcome}: {part.message}" for part in told),
    )  # fmt: skip


def _ran_on(trial: Trial, done: Sequence[Part]) -> RanOn:
    """Where all parts together ran."""
    found = {RanOn(part.ran_on) for part in done}
    return next(iter(found)) if len(found) == 1 else RanOn.MIXED if RanOn.CPU in found else trial.seen.ran_on
