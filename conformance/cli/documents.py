"""Stored things as JSON documents, the same words for every command."""

from collections.abc import Mapping
from typing import Any

from conformance.outcomes import Outcome
from conformance.store import Cause, Comparison, DiffRow, NamedGroup, OutcomeRow, RunRow, SideOf, Tally


def outcomes(counts: Mapping[Outcome, int]) -> dict[str, int]:
    """Counts by the outcome's word, in the order of the codes."""
    return {each.word: counts[each] for each in Outcome if counts.get(each)}


def run_of(run: RunRow) -> dict[str, Any]:
    """A run without its tests; `outcomes` add up to `planned`."""
    return {
        "run": run.uid, "release": run.release, "target": run.target, "simulated": run.simulated, "torch": run.torch,
        "profile": run.profile, "whole": run.whole, "sealed": run.sealed, "planned": run.planned,
        "eligible": run.eligible, "outcomes": outcomes(run.counts), "flaky": run.flaky,
        "started": run.started.isoformat(), "finished": run.finished.isoformat(),
    }  # fmt: skip


def tally_of(each: Tally) -> dict[str, Any]:
    """Counts of the tests with one label."""
    return {
        "label": each.label, "planned": each.planned, "eligible": each.eligible, "outcomes": outcomes(each.counts)
    }  # fmt: skip


def outcome_of(row: OutcomeRow, *, simulated: bool) -> dict[str, Any]:
    """One test of a run, as `run --format ndjson` prints it and more."""
    return {
        "id": row.key, "simulated": simulated, "outcome": row.outcome.word, "flaky": row.flaky,
        "order_dependent": row.order_dependent, "leaked": list(row.leaked), "reused": row.reused,
        "attempts": row.attempts, "rule": row.rule,
        "ran_on": row.ran_on, "stage": row.stage,
        "seconds": {phase: round(spent, 6) for phase, spent in row.seconds.items()}, "message": row.message,
        "cause": row.cause, "code": row.code, "fallback_ops": list(row.fallback_ops), "op": row.id.op,
        "variant": row.id.variant, "dtype": row.id.dtype, "kind": row.id.kind,
    }  # fmt: skip


def cause_of(each: Cause) -> dict[str, Any]:
    """Tests that changed for one reason; `classes` add up to `tests`."""
    return {
        "cause": each.name, "reason": each.signature, "tests": each.tests,
        "classes": {pair.word: number for pair, number in each.classes.items()}, "example": each.example,
    }  # fmt: skip


def comparison_of(compared: Comparison, groups: list[NamedGroup], causes: list[Cause]) -> dict[str, Any]:
    """A comparison without its rows; `classes` add up to `tests`, the tests of the causes to `blocking`."""
    moves = [
        {"from": _word(before), "to": _word(after), "tests": number}
        for (before, after), number in compared.transitions.items()
    ]
    return {
        "a": run_of(compared.a), "b": run_of(compared.b),
        "a_runs": [each.uid for each in compared.runs[0]], "b_runs": [each.uid for each in compared.runs[1]],
        "simulated": compared.a.simulated,
        "tests": sum(compared.counts.values()), "comparable": compared.comparable, "blocking": compared.blocking,
        "renamed": len(compared.renamed),
        "classes": {pair.word: number for pair, number in compared.counts.items()}, "transitions": moves,
        "causes": [cause_of(each) for each in causes],
        "groups": [
            {"class": each.group.pair.word, "tests": each.group.count, "reason": each.reason, "example": each.example}
            for each in groups
        ],
    }  # fmt: skip


def diff_row_of(row: DiffRow, *, simulated: bool) -> dict[str, Any]:
    """One test in both runs."""
    return {
        "id": row.key, "simulated": simulated, "class": row.pair.word, "renamed_from": row.renamed_from,
        "a": _side(row.a), "b": _side(row.b),
    }  # fmt: skip


def _side(each: SideOf) -> dict[str, Any]:
    return {
        "outcome": _word(each.outcome), "flaky": each.flaky, "rule": each.rule, "cause": each.cause,
        "message": each.message, "fallback_ops": list(each.fallback_ops),
    }  # fmt: skip


def _word(outcome: Outcome | None) -> str:
    return "not_planned" if outcome is None else outcome.word
