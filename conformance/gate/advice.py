"""What to do about a verdict: the commands that show, repeat and list what blocks, and the waiver to write."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from conformance.gate.gating import Question, Verdict
from conformance.store import Cause

WAIVED_FOR: Final = timedelta(days=30)
"""How long a proposed waiver holds; a proposal, to be changed by whoever signs it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeat:
    """The commands about one cause: list its tests, run them again, run the first one alone."""

    listed: str
    again: str
    alone: str


def command(question: Question, policy: str, *more: str) -> str:
    """This gate as a command."""
    against = ("--baseline", question.baseline) if question.baseline else ("--best-of", str(question.best_of))
    suites = [part for each in question.suites for part in ("--suite", each)]
    files = [part for each in question.files for part in ("--waivers", str(each))]
    told = ("--policy", policy) if policy else ()
    later = [part for each in question.again for part in ("--again", each)]
    return shlex.join(
        ["conformance", "gate", "--candidate", question.candidate, *against, *told, *files, *suites, *later, *more]
    )


def repeat(verdict: Verdict, question: Question, policy: str, cause: Cause) -> Repeat:
    """How to see and repeat a cause; the run is the candidate's that has its first test."""
    compared = verdict.compared
    run = compared.runs[1][max(int(compared.picked[1][cause.numbers[0]]), 0)].uid
    file = f"{cause.name}.txt"
    return Repeat(
        listed=f"{command(question, policy, '--tests-of', cause.name)} > {file}",
        again=shlex.join(["conformance", "run", "--failed-of", run, "--only", file]),
        alone=shlex.join(["conformance", "repro", cause.example, "--run", run]),
    )  # fmt: skip


def waiver(verdict: Verdict, cause: Cause, day: date) -> str:
    """The waiver to write for a cause, complete but for the reason, the link and the owner."""
    newest = verdict.candidate.newest
    lines = [
        "[[waiver]]",
        f"id = {_text(f'{newest.release}-{cause.name}')}",
        'reason = ""  # why these tests may fail',
        'link = ""  # https://…',
        'owner = ""  # who answers for it',
        f"expires = {(day + WAIVED_FOR).isoformat()}",
        f"targets = [{_text(newest.target)}]",
        f"releases = [{_text(newest.release)}]",
        f"causes = [{_text(cause.name)}]",
    ]
    return "\n".join(lines)


def _text(value: str) -> str:
    # A JSON string is a basic string of TOML but for DEL, which TOML does not allow bare.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def steps(verdict: Verdict, question: Question, policy: str) -> Iterator[str]:
    """What to do next, in order."""
    for each in verdict.findings:
        yield f"{each.sentence}: {each.remedy}"
    for cause in verdict.causes[:1]:
        made = repeat(verdict, question, policy, cause)
        yield f"list the tests of the largest cause: {made.listed}"
        yield f"run them again: {made.again}"
        yield f"run the first one alone: {made.alone}"
        yield "or waive a cause until a day, in a file for --waivers: the one below is complete but for who and why"
    for used in verdict.waivers:
        if used.expired and used.tests:
            yield (
                f"waiver {used.waiver.id!r} of {used.waiver.owner} expired on {used.waiver.expires} and would waive "
                f"{len(used.tests):,} tests: renew it or mend them ({used.waiver.where})"
            )
        elif not used.expired and not used.tests:
            yield f"waiver {used.waiver.id!r} waives nothing: take it out ({used.waiver.where})"
