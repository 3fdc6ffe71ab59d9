"""Failures that nobody foresaw, as entries for somebody to fill in: grouped by cause, owner and reason left empty."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from conformance.classify import exception_name
from conformance.expectations.entries import EXPECT, FORESEEABLE, Entry
from conformance.expectations.writing import many, text_of
from conformance.outcomes import Outcome
from conformance.record import Result

_NOT_WORDS: Final = re.compile("[^a-z0-9]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """An entry for failures of one cause, and what is known of them."""

    entry: Entry
    cause: str

    def text(self) -> str:
        """The entry as TOML. It is refused wherever it is read, until owner and reason are filled in."""
        return text_of(EXPECT, self.entry, [f"{many(len(self.entry.tests), 'test')}: {self.cause}"[:200]])


def proposals(results: Iterable[Result], day: date, releases: tuple[str, ...] = ()) -> list[Proposal]:
    """One entry for each outcome and cause of the failures that no entry foresees, the commonest first.

    Left out are flaky failures, since a strict expectation would be wrong every other time, and tests of which another
    failure is expected: a second entry would never be reached. `releases` are those that the entries are to hold for.
    """
    groups: dict[tuple[Outcome, str, str], list[Result]] = {}
    for each in results:
        if each.outcome in FORESEEABLE and not each.flaky and each.test.expected is None:
            shown = each.shown
            groups.setdefault((each.outcome, shown.code, shown.cause or shown.rule), []).append(each)
    ordered = sorted(groups.items(), key=lambda pair: -len(pair[1]))
    return [_proposal(key, found, day, releases) for key, found in ordered]


def flaky(results: Iterable[Result]) -> int:
    """How many failures are left out because their attempts disagreed."""
    return sum(each.outcome in FORESEEABLE and each.flaky for each in results)


def otherwise(results: Iterable[Result]) -> dict[str, Counter[Outcome]]:
    """By the rule that foresaw another failure: how its tests ended instead."""
    made: dict[str, Counter[Outcome]] = {}
    for each in results:
        if each.outcome in FORESEEABLE and each.test.expected is not None:
            made.setdefault(each.test.expected.rule, Counter())[each.outcome] += 1
    return made


def _proposal(key: tuple[Outcome, str, str], found: Sequence[Result], day: date, releases: tuple[str, ...]) -> Proposal:
    outcome, code, cause = key
    raised = exception_name(found[0].shown) if outcome in (Outcome.ERROR, Outcome.COMPILE_FAIL) and not code else ""
    entry = Entry(
        id=_name(outcome, code, cause, releases), reason="", owner="", added=day, releases=releases,
        outcome=outcome.word, code=code, exception=raised, tests=tuple(each.test.key for each in found),
    )  # fmt: skip
    return Proposal(entry=entry, cause=cause)


def _name(outcome: Outcome, code: str, cause: str, releases: tuple[str, ...]) -> str:
    """The same for the same cause on the same release, so that a second proposal is seen to be one."""
    words = _NOT_WORDS.sub("-", (code or cause).lower()).strip("-")[:32].strip("-")
    said = "\0".join((outcome.word, code, cause, *releases))
    digest = hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=3).hexdigest()
    return "-".join(filter(None, (outcome.word.replace("_", "-"), words, digest)))
