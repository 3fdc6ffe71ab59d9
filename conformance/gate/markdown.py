"""A verdict as Markdown for the summary of a CI job, within a number of bytes: the causes at the end go first."""

from collections.abc import Iterator

from conformance.exports.markdown import LARGEST, cell, fitted
from conformance.gate import advice, answer
from conformance.gate.gating import Question, Verdict
from conformance.store import Cause, Standing


def summary(verdict: Verdict, question: Question, policy: str, largest: int = LARGEST) -> str:
    """Verdict, sides, suites and waivers; then what to do and the causes, as many as there is room for."""
    needed = [*_head(verdict), *_suites(verdict), *_waivers(verdict)]
    return fitted(needed, [*_steps(verdict, question, policy), *_causes(verdict.causes)], largest)


def _head(verdict: Verdict) -> Iterator[str]:
    newest = verdict.candidate.newest
    yield f"## Gate: {cell(answer.HEADLINES[verdict.word])}: {cell(newest.release)} on {cell(newest.target)}"
    yield ""
    if newest.simulated:
        yield from ("> **Simulation:** these results say nothing about hardware.", "")
    yield from (cell(answer.sentence(verdict)), "")
    for side, standing in (("candidate", verdict.candidate), *(("baseline", each) for each in verdict.baselines)):
        yield _side(side, standing)
    yield from (f"- policy: {cell(verdict.policy)}", "")


def _side(name: str, standing: Standing) -> str:
    runs = ", ".join(cell(each.uid) for each in standing.runs)
    return f"- {name}: **{cell(standing.newest.release)}**, torch {cell(standing.newest.torch)}, {runs}"


def _suites(verdict: Verdict) -> Iterator[str]:
    yield from ("| suite | baseline | candidate | comparable | block | flaky |", "|---|--:|--:|--:|--:|--:|")
    for each in verdict.facts:
        block, flaky = int(each.blocked.sum()), int(each.flaky.sum())
        yield (
            f"| {cell(each.suite)} | {each.baseline:,} | {each.candidate:,} | {each.comparable:,} | {block:,} "
            f"| {flaky:,} |"
        )
    yield ""


def _waivers(verdict: Verdict) -> Iterator[str]:
    if not verdict.waivers:
        return
    yield from ("| waiver | owner | until | state | tests |", "|---|---|---|---|--:|")
    for each in verdict.waivers:
        until = each.waiver.expires.isoformat()
        yield f"| {cell(each.waiver.id)} | {cell(each.waiver.owner)} | {until} | {each.state} | {len(each.tests):,} |"
    yield ""


def _steps(verdict: Verdict, question: Question, policy: str) -> Iterator[str]:
    for number, step in enumerate(advice.steps(verdict, question, policy), 1):
        yield f"{number}. {cell(step)}"
    yield ""


def _causes(causes: tuple[Cause, ...]) -> Iterator[str]:
    if not causes:
        return
    total = sum(each.tests for each in causes)
    yield from (f"### {len(causes):,} causes, {total:,} tests", "")
    yield from ("| cause | tests | classes | reason | for example |", "|---|--:|---|---|---|")
    for each in causes:
        classes = ", ".join(f"{pair.word} {number:,}" for pair, number in each.classes.items())
        yield f"| {each.name} | {each.tests:,} | {cell(classes)} | {cell(each.signature)} | {cell(each.example)} |"
