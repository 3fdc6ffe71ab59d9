"""A verdict of the gate on a terminal: the word, the numbers, the causes, what to do next."""

from datetime import date
from typing import Final

from conformance.cli import screen
from conformance.gate import advice, answer
from conformance.gate.facts import Facts
from conformance.gate.gating import Question, Verdict
from conformance.pairs import PairClass
from conformance.store import Cause, Standing

_CAUSES: Final = 20


def show(verdict: Verdict, question: Question, policy: str, day: date) -> None:
    """Print everything about a verdict on stdout."""
    label = " (SIMULATION: says nothing about hardware)" if verdict.candidate.newest.simulated else ""
    screen.say(f"{answer.HEADLINES[verdict.word]}{label}: {screen.safe(answer.sentence(verdict))}")
    screen.say()
    _say_side("candidate", verdict.candidate)
    for each in verdict.baselines:
        _say_side("baseline", each)
    screen.say(f"policy: {screen.safe(verdict.policy)}")
    screen.say()
    heads = ("suite", "baseline", "candidate", "comparable", "block", "flaky", "silenced", "infra", "unexplained",
             "new", "new right")  # fmt: skip
    screen.say_table(heads, [_suite_cells(each) for each in verdict.facts])
    screen.say()
    total = sum(verdict.classes.values())
    moved = [(pair.word, number, screen.percent(number, total)) for pair, number in verdict.classes.items()]
    screen.say_table(("class", "tests", "of all"), moved)
    _say_causes(verdict)
    _say_waivers(verdict)
    _say_next(verdict, question, policy, day)


def _say_side(name: str, standing: Standing) -> None:
    newest, runs = standing.newest, ", ".join(each.uid for each in standing.runs)
    screen.say(f"{name}: {screen.safe(f'{newest.release} on {newest.target}, torch {newest.torch}, run {runs}')}")


def _suite_cells(each: Facts) -> tuple[object, ...]:
    return (
        each.suite, each.baseline, each.candidate, each.comparable, int(each.blocked.sum()), int(each.flaky.sum()),
        each.silenced, each.infra, each.unclassified, each.fresh, each.fresh_right,
    )  # fmt: skip


def _say_causes(verdict: Verdict) -> None:
    if not verdict.causes:
        return
    screen.say()
    rows = [_cause_cells(each) for each in verdict.causes[:_CAUSES]]
    screen.say_table(("cause", "tests", "classes", "reason", "first test"), rows)
    if len(verdict.causes) > _CAUSES:
        screen.remark(f"{_CAUSES} of {len(verdict.causes):,} causes: --format json has all of them")


def _cause_cells(each: Cause) -> tuple[object, ...]:
    found = [f"{_word(pair)} {number:,}" for pair, number in each.classes.items()]
    return (each.name, each.tests, ", ".join(found), screen.safe(each.signature, 100), each.example)


def _word(pair: PairClass) -> str:
    untouched = (PairClass.SAME, PairClass.CHANGED_FAILURE, PairClass.BETTER)
    return f"{pair.word} after a flaky baseline" if pair in untouched else pair.word


def _say_waivers(verdict: Verdict) -> None:
    if not verdict.waivers:
        return
    screen.say()
    rows = [
        (used.waiver.id, used.waiver.owner, used.waiver.expires.isoformat(), used.state, len(used.tests),
         screen.safe(used.waiver.reason, 80))
        for used in verdict.waivers
    ]  # fmt: skip
    screen.say_table(("waiver", "owner", "until", "state", "tests", "reason"), rows)


def _say_next(verdict: Verdict, question: Question, policy: str, day: date) -> None:
    screen.say()
    steps = list(advice.steps(verdict, question, policy))
    for number, step in enumerate(steps, 1):
        screen.say(f"{number}. {screen.safe(step)}")
    for cause in verdict.causes[:1]:
        screen.say()
        screen.say(screen.paragraph(advice.waiver(verdict, cause, day)))
    if not steps:
        screen.say("nothing is left to do")
