"""One gate: from names of releases to a verdict with everything that explains it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conformance import store as stored
from conformance.errors import IncompleteError, UsageError
from conformance.expectations import today
from conformance.gate import again, facts, judging, waivers
from conformance.gate.facts import Facts, Mask, Vectors
from conformance.gate.judging import Finding, Word
from conformance.gate.policy import Policy
from conformance.gate.waivers import Used
from conformance.gate.waiving import waive, waived_by
from conformance.outcomes import FLAKY, Outcome
from conformance.pairs import PairClass
from conformance.store import Cause, Comparison, RunRow, Standing, Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What is asked. `baseline` is empty for the best of the last `best_of` earlier releases.

    `suites` restrict the gate; `files` are those of waivers beside the policy's own; `again` are runs of blocked tests
    that were made later under the candidate's conditions.
    """

    candidate: str
    baseline: str = ""
    best_of: int = 1
    suites: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    again: tuple[str, ...] = ()
    day: date | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The answer. `causes` are those of the tests that block effectively: neither flaky by policy nor waived.

    `base` is the number of tests that block before waivers; `base` is `waived` and the tests of `causes` together.
    """

    word: Word
    policy: str
    compared: Comparison
    candidate: Standing
    baselines: tuple[Standing, ...]
    facts: tuple[Facts, ...]
    findings: tuple[Finding, ...]
    causes: tuple[Cause, ...]
    effective: Mask
    base: int
    waivers: tuple[Used, ...]

    @property
    def waived(self) -> int:
        """Tests that block and are waived."""
        return len(waived_by(self.waivers))

    @property
    def flaky(self) -> int:
        """Tests that would block and are let off as flaky by the policy."""
        return sum(int(np.count_nonzero(each.flaky)) for each in self.facts)

    @property
    def classes(self) -> dict[PairClass, int]:
        """Tests of the gated suites by class."""
        found = {pair: sum(each.classes.get(pair, 0) for each in self.facts) for pair in PairClass}
        return {pair: number for pair, number in found.items() if number}


def gate(store: Store, question: Question, policy: Policy) -> Verdict:
    """Judge a candidate. Raises UsageError for a wrong name, policy or waiver, IncompleteError without a baseline."""
    written = waivers.load((*policy.waivers, *question.files))
    candidate = stored.standing(store, question.candidate)
    baselines = _baselines(store, question, candidate)
    compared = stored.compare(store, baselines, candidate)
    vectors, compared = _vectors(store, compared)
    for each in question.again:
        vectors = again.in_doubt(store, vectors, baselines, again.later_run(store, each, candidate))
    found = tuple(_facts(store, question, vectors, policy, candidate.newest.target))
    blocked = np.any([each.blocked for each in found], axis=0) if found else np.zeros(len(compared.classes), np.bool_)
    used = waive(store, compared, written, blocked, question.day or today())
    effective = blocked.copy()
    effective[waived_by(used)] = False
    troubles = (*_doubts(candidate, baselines, question.suites, found), *judging.findings(found))
    return Verdict(
        word=judging.word(troubles, int(np.count_nonzero(effective))), policy=policy.name, compared=compared,
        candidate=candidate, baselines=tuple(baselines), facts=found, findings=troubles, effective=effective,
        causes=tuple(stored.causes(store, compared, effective)), base=int(np.count_nonzero(blocked)),
        waivers=tuple(used),
    )  # fmt: skip


def _baselines(store: Store, question: Question, candidate: Standing) -> list[Standing]:
    if question.baseline:
        return [stored.standing(store, question.baseline)]
    found = stored.earlier_releases(store, candidate, question.best_of)
    if not found:
        raise IncompleteError(
            f"there is no release of {candidate.newest.target} before {candidate.newest.release} with a sealed run "
            "over a whole profile: name what to compare with by --baseline"
        )
    return found


def _vectors(store: Store, compared: Comparison) -> tuple[Vectors, Comparison]:
    """The vectors that are judged; a test that fails steadily after a flaky baseline has its failure as the reason."""
    before, after = compared.sides
    possible = facts.possibly_steady(compared.classes, before, after)
    steady = stored.once_right(store, compared, 0, possible)
    doubtful = stored.once_right(store, compared, 1, after.status & FLAKY != 0)
    reasons = np.where(steady & (compared.reasons == 0), after.cause, compared.reasons)
    vectors = Vectors(classes=compared.classes, before=before, after=after, steady=steady, doubtful=doubtful)
    return vectors, replace(compared, reasons=reasons)


def _facts(store: Store, question: Question, vectors: Vectors, policy: Policy, target: str) -> Iterator[Facts]:
    numbers, names = stored.suites_of(store, len(vectors.classes))
    there = vectors.classes != 0
    known = sorted(names[each] for each in np.unique(numbers[there]).tolist())
    if unknown := [each for each in question.suites if each not in known]:
        raise UsageError(f"no side has a test of suite {unknown[0]!r}: choose from {', '.join(known)}")
    for number in np.unique(numbers[there]).tolist():
        if not question.suites or names[number] in question.suites:
            mine = there & (numbers == number)
            yield facts.of_suite(vectors, mine, names[number], policy.rules(target, names[number]))


def _doubts(
    candidate: Standing, baselines: Sequence[Standing], asked: Sequence[str], found: Sequence[Facts]
) -> Iterator[Finding]:
    for side, standing in (("candidate", candidate), *(("baseline", each) for each in baselines)):
        yield from (_open(side, run) for run in standing.runs if not run.sealed)
    lacking = set.intersection(*(set(each.lacking) for each in baselines))
    for side, suites in (("candidate", candidate.lacking), ("baseline", sorted(lacking))):
        for suite in suites:
            if not asked or suite in asked:
                yield Finding(
                    rule="sealed", suite=suite, sentence=f"the {side} has no sealed run of suite {suite}",
                    remedy="finish its run with --resume, or gate the other suites with --suite",
                )  # fmt: skip
    if not any(each.comparable for each in found):
        yield Finding(
            rule="comparable", suite="", sentence="no test is comparable: the two sides planned different tests",
            remedy="name a baseline with the same suites, or leave --suite out",
        )  # fmt: skip


def _open(side: str, run: RunRow) -> Finding:
    left = run.counts.get(Outcome.NOT_RUN, 0)
    return Finding(
        rule="sealed", suite="",
        sentence=f"run {run.uid} of the {side} is not sealed: {left:,} of its tests have not run",
        remedy=f"finish it with `conformance run --resume {run.uid}`",
    )  # fmt: skip


def numbers_of(verdict: Verdict) -> NDArray[np.intp]:
    """The tests that block effectively, rising."""
    return np.flatnonzero(verdict.effective)


def totals(verdict: Verdict) -> Mapping[str, int]:
    """The counts that every form of the answer shows."""
    return {
        "tests": sum(verdict.classes.values()), "comparable": sum(each.comparable for each in verdict.facts),
        "blocking": verdict.base, "waived": verdict.waived, "effective": len(numbers_of(verdict)),
        "flaky": verdict.flaky,
    }  # fmt: skip
