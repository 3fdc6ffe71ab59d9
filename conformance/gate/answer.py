"""A verdict as one JSON object: what `conformance gate --format json` prints and what other forms are made from."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from typing import Any, Final

from conformance.gate import advice
from conformance.gate.facts import Facts
from conformance.gate.gating import Question, Verdict, totals
from conformance.gate.judging import Word
from conformance.gate.waivers import Used
from conformance.pairs import PairClass
from conformance.store import Cause, Standing

HEADLINES: Final = {Word.MAY_SHIP: "MAY SHIP", Word.BLOCKED: "BLOCKED", Word.INCONCLUSIVE: "INCONCLUSIVE"}


def sentence(verdict: Verdict) -> str:
    """The verdict in one sentence, the same wherever it is shown."""
    counted = totals(verdict)
    doubts = [each for each in verdict.findings if not each.conclusive]
    causes = f"{len(verdict.causes):,} cause{'' if len(verdict.causes) == 1 else 's'}"
    blocked = f"{counted['effective']:,} tests block by {causes} (base {counted['blocking']:,}, " \
              f"waived {counted['waived']:,}) of {counted['comparable']:,} comparable"  # fmt: skip
    if doubts:
        return f"{doubts[0].sentence}{f' (and {len(doubts) - 1} more)' if len(doubts) > 1 else ''}; so far {blocked}"
    unmet = "; ".join(each.sentence for each in verdict.findings)
    return f"{unmet}; {blocked}" if unmet else blocked


def document(verdict: Verdict, question: Question, policy: str, day: date) -> dict[str, Any]:
    """The whole answer. `counts.blocking` is `counts.waived` and `counts.effective` together; `classes` add up."""
    return {
        "verdict": verdict.word.value, "sentence": sentence(verdict), "exit": int(verdict.word.code),
        "simulated": verdict.candidate.newest.simulated,
        "candidate": standing_of(verdict.candidate), "baselines": [standing_of(each) for each in verdict.baselines],
        "again": list(question.again), "policy": verdict.policy,
        "counts": dict(totals(verdict)), "classes": words(verdict.classes),
        "suites": [suite_of(each) for each in verdict.facts], "findings": [asdict(each) for each in verdict.findings],
        "causes": [_cause(verdict, question, policy, each, day) for each in verdict.causes],
        "waivers": [waiver_of(each) for each in verdict.waivers],
        "command": advice.command(question, policy), "next": list(advice.steps(verdict, question, policy)),
    }  # fmt: skip


def words(classes: Mapping[PairClass, int]) -> dict[str, int]:
    """Counts by the class's word."""
    return {pair.word: number for pair, number in classes.items()}


def standing_of(standing: Standing) -> dict[str, Any]:
    """A side: its name and the runs that stand for it, newest first."""
    newest = standing.newest
    return {
        "name": standing.name, "release": newest.release, "target": newest.target, "torch": newest.torch,
        "runs": [each.uid for each in standing.runs], "sealed": standing.sealed,
    }  # fmt: skip


def suite_of(facts: Facts) -> dict[str, Any]:
    """One suite's numbers."""
    return {
        "suite": facts.suite, "baseline": facts.baseline, "candidate": facts.candidate, "comparable": facts.comparable,
        "blocking": int(facts.blocked.sum()), "flaky": int(facts.flaky.sum()), "silenced": facts.silenced,
        "infra": facts.infra, "unclassified": facts.unclassified, "new": facts.fresh, "new_right": facts.fresh_right,
        "classes": words(facts.classes),
    }  # fmt: skip


def waiver_of(used: Used) -> dict[str, Any]:
    """A waiver and how many tests it waives, or would waive had it not expired."""
    each = used.waiver
    return {
        "id": each.id, "owner": each.owner, "reason": each.reason, "link": each.link,
        "expires": each.expires.isoformat(), "expired": used.expired, "tests": len(used.tests), "where": each.where,
    }  # fmt: skip


def _cause(verdict: Verdict, question: Question, policy: str, each: Cause, day: date) -> dict[str, Any]:
    made = advice.repeat(verdict, question, policy, each)
    return {
        "cause": each.name, "reason": each.signature, "tests": each.tests, "classes": words(each.classes),
        "example": each.example, "list": made.listed, "again": made.again, "alone": made.alone,
        "waiver": advice.waiver(verdict, each, day),
    }  # fmt: skip
