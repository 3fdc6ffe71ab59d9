"""Skips of a run by their texts, and the stanza of a rule for one that no rule explains."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from conformance.outcomes import Outcome, Source
from conformance.provenance.rules import NO_RULE, Origin, Skip, explain

SKIPS: Final = frozenset(
    {Outcome.SKIP_ELIGIBILITY, Outcome.SKIP_ENVIRONMENT, Outcome.SKIP_COVERAGE, Outcome.SKIP_UNCLASSIFIED}
)
_LONGEST_EXAMPLE: Final = 200
_LONGEST_PATTERN: Final = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """One skipped test: its identity and what was recorded of its skip."""

    key: str
    outcome: Outcome
    rule: str
    text: str
    source: Source | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """One text of one origin: how many tests it skipped, under which rule, and one of them.

    `origin` is "" where none was recorded: the entry of a coverage file decided. `now` is the outcome and the rule by
    which today's rules would explain it where that is another, else None.
    """

    count: int
    outcome: Outcome
    rule: str
    origin: str
    code: str
    turned: str
    text: str
    example: str
    now: tuple[Outcome, str] | None


def texts(seen: Iterable[Seen]) -> list[Text]:
    """Skips by outcome, rule, who raised them and text, most frequent first; what is no skip is left out."""
    counts, examples = Counter[tuple[Outcome, str, Source, str]](), dict[tuple[Outcome, str, Source, str], str]()
    for each in seen:
        if each.outcome in SKIPS:
            source = each.source or Source(who="")
            part = Source(who=source.who, code=_shared(source), turned=source.turned)
            key = (each.outcome, each.rule, part, _said(each))
            counts[key] += 1
            examples.setdefault(key, each.key)
    made = [
        Text(
            count=count, outcome=outcome, rule=rule, origin=source.who, code=source.code, turned=source.turned,
            text=text, example=examples[outcome, rule, source, text], now=_now(outcome, rule, source, text),
        )
        for (outcome, rule, source, text), count in counts.items()
    ]  # fmt: skip
    return sorted(made, key=lambda each: (-each.count, each.rule, each.text))


def _shared(source: Source) -> str:
    """The code that raised it; an OpInfo entry is another for each operator."""
    return "" if source.who in (Origin.OPINFO, Origin.DECORATOR) else source.code


def _said(seen: Seen) -> str:
    """The text as it was raised: unexplained ones were recorded with the code that raised them."""
    return seen.text.removesuffix(f" (raised in {seen.source.code})") if seen.source is not None else seen.text


def _now(outcome: Outcome, rule: str, source: Source, text: str) -> tuple[Outcome, str] | None:
    try:
        origin = Origin(source.who)
    except ValueError:
        return None
    found = explain(Skip(origin=origin, reason=text, function=source.code, turned=source.turned))
    return None if found == (outcome, rule) else found


def stanza(text: Text) -> str:
    """A rule to complete and to paste into a file of rules; "" for a skip that gives no rule anything to hold on to.

    Its outcome and its `why` are left to the person who knows them, and the file is refused until they are given.
    """
    if text.rule != NO_RULE or not text.origin or not (text.code or text.text):
        return ""
    first = (text.text.splitlines() or [""])[0][:_LONGEST_PATTERN]
    lines = [
        "[[rule]]",
        f"id = {_quoted(_id(text))}",
        'outcome = ""  # skip_eligibility, skip_environment or skip_coverage',
        'why = ""  # a few words for whoever meets it',
        f"origins = [{_quoted(text.origin)}]",
        *([f"function = {_quoted(re.escape(text.code))}"] if text.code else []),
        *([f"reason = {_quoted('^' + re.escape(first))}"] if first else []),
        f"examples = [{{ {', '.join(_example(text))} }}]",
    ]
    return "\n".join(lines) + "\n"


def _example(text: Text) -> list[str]:
    parts = {"origin": text.origin, "function": text.code, "reason": text.text[:_LONGEST_EXAMPLE]}
    return [f"{name} = {_quoted(value)}" for name, value in parts.items() if value]


def _id(text: Text) -> str:
    words = re.findall(r"[a-z0-9]+", (text.text or text.code).lower())[:5]
    return f"local:{'-'.join(words)[:50] or 'skip'}"


def _quoted(text: str) -> str:
    """A TOML string: JSON's, and DEL escaped as well."""
    return json.dumps(text).replace("\x7f", "\\u007F")
