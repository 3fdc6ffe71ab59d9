"""From facts to a verdict: what is inconclusive, what blocks, and the exit code. Pure functions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from conformance.errors import ExitCode
from conformance.gate.facts import Facts


class Word(StrEnum):
    """The verdict in a word."""

    MAY_SHIP = "may_ship"
    BLOCKED = "blocked"
    INCONCLUSIVE = "inconclusive"

    @property
    def code(self) -> ExitCode:
        """The exit code of the vocabulary."""
        codes = {Word.BLOCKED: ExitCode.REGRESSION, Word.INCONCLUSIVE: ExitCode.INCOMPLETE}
        return codes.get(self, ExitCode.FINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A rule that is not met. `rule` is its name in a policy, or what else is wrong; `conclusive` says that it blocks.

    `suite` is empty where the finding is about all; `remedy` is what to do.
    """

    rule: str
    suite: str
    sentence: str
    remedy: str
    conclusive: bool = False


def findings(facts: Iterable[Facts]) -> list[Finding]:
    """The rules that the suites do not meet; blocked tests are not among them."""
    return [found for each in facts for found in (*_comparable(each), *_silenced(each), *_machine(each), *_new(each))]


def _comparable(facts: Facts) -> Iterator[Finding]:
    if facts.baseline and facts.comparable < facts.rules.min_comparable * facts.baseline:
        yield Finding(
            rule="min_comparable", suite=facts.suite,
            sentence=f"{_of(facts.comparable, facts.baseline)} of the baseline's tests are comparable, "
                     f"{facts.rules.min_comparable:.1%} must be",
            remedy="run the same selection on the same test files as the baseline, or gate its suites with --suite",
        )  # fmt: skip


def _silenced(facts: Facts) -> Iterator[Finding]:
    # Where too little is comparable that is said already, and why.
    if any(_comparable(facts)):
        return
    if facts.silenced > facts.rules.max_silenced * facts.right_before:
        yield Finding(
            rule="max_silenced", suite=facts.suite,
            sentence=f"{_of(facts.silenced, facts.right_before)} of the baseline's right tests are gone or no longer "
                     f"tell, {facts.rules.max_silenced:.1%} may be",
            remedy="see the classes removed, not_run_here, environment_changed and eligibility_changed with "
                   "`conformance diff`",
        )  # fmt: skip


def _machine(facts: Facts) -> Iterator[Finding]:
    if facts.infra > facts.rules.max_infra * facts.candidate:
        yield Finding(
            rule="max_infra", suite=facts.suite,
            sentence=f"the machine spoilt {_of(facts.infra, facts.candidate)} of the candidate's tests, "
                     f"{facts.rules.max_infra:.1%} may be",
            remedy="run the candidate again on a sound machine",
        )  # fmt: skip
    if facts.unclassified > facts.rules.max_unclassified:
        yield Finding(
            rule="max_unclassified", suite=facts.suite,
            sentence=f"{facts.unclassified:,} skips that no rule explains, {facts.rules.max_unclassified:,} may be",
            remedy="see `conformance skips RUN --unclassified` and write a rule for each",
        )  # fmt: skip


def _new(facts: Facts) -> Iterator[Finding]:
    if facts.fresh_right < facts.rules.min_new_pass * facts.fresh:
        yield Finding(
            rule="min_new_pass", suite=facts.suite, conclusive=True,
            sentence=f"{_of(facts.fresh_right, facts.fresh)} of the new or changed tests are right, "
                     f"{facts.rules.min_new_pass:.1%} must be",
            remedy="list them with `conformance diff A B --classes added,test_changed`",
        )  # fmt: skip


def word(found: Sequence[Finding], effective: int) -> Word:
    """The verdict. Inconclusive comes first: what blocks is then known of a part alone."""
    if any(not each.conclusive for each in found):
        return Word.INCONCLUSIVE
    return Word.BLOCKED if found or effective else Word.MAY_SHIP


def _of(part: int, whole: int) -> str:
    return f"{part / whole:.1%} ({part:,} of {whole:,})"
