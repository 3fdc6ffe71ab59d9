"""Rules as people write them: TOML read, checked and made ready. The user's own come before the shipped ones."""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from conformance import settings
from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.provenance import patterns
from conformance.provenance.rules import Origin, Rule, Skip, first

SHIPPED: Final = Path(__file__).with_name("rules.toml")
OUTCOMES: Final = frozenset({Outcome.SKIP_ELIGIBILITY, Outcome.SKIP_ENVIRONMENT, Outcome.SKIP_COVERAGE})
"""What a rule may name: no rule makes a skip anything else, and none leaves it unexplained."""
_ID: Final = re.compile(r"[a-z0-9][a-z0-9.:-]{0,60}\Z")
_RESERVED: Final = ("coverage:", "expect:")
"""Prefixes of rules that stand for entries of coverage files."""


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A skip that the rule is for. `origin` is a word of Origin, the other parts are as in Skip."""

    origin: str
    reason: str = ""
    function: str = ""
    turned: str = ""


class Written(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[[rule]]` of a file."""

    id: str
    outcome: str
    why: str
    origins: tuple[str, ...]
    examples: tuple[Example, ...]
    function: str = ""
    reason: str = ""
    turned: tuple[str, ...] = ()


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of rules."""

    rule: tuple[Written, ...] = ()


@cache
def every() -> tuple[Rule, ...]:
    """The rules that hold in this process: those of CONFORMANCE_RULES, then the shipped ones.

    They are read once: a test may change the environment. Raises UsageError for a file that is broken or has a rule
    that can never match.
    """
    own, shipped = settings.load().rules, read(SHIPPED)
    if own is None:
        return shipped
    mine = read(own)
    taken = {each.id for each in shipped}
    for each in mine:
        if each.id in taken:
            raise UsageError(f"rule {each.id!r} of {own} has the id of a shipped rule: give it one of its own")
    return (*mine, *shipped)


def digest() -> str:
    """A hash over the user's own rules, "" without any. Raises UsageError as `every` does."""
    own = settings.load().rules
    every()
    return hashlib.blake2b(own.read_bytes(), digest_size=8).hexdigest() if own is not None else ""


def read(path: Path) -> tuple[Rule, ...]:
    """The rules of a file, in its order. Raises UsageError that names the file, the rule and the remedy."""
    try:
        file = msgspec.convert(tomllib.loads(path.read_text()), File)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(f"the rules in {path} cannot be read: {error}") from error
    rules = tuple(_made(each, path) for each in file.rule)
    _require_one_outcome(rules, path)
    for written, rule in zip(file.rule, rules, strict=True):
        _require_reached(written, rule, rules, path)
    return rules


def _made(written: Written, path: Path) -> Rule:
    place = f"rule {written.id!r} of {path}"
    if not _ID.match(written.id) or written.id.startswith(_RESERVED):
        raise UsageError(
            f"{place} has no fit id: use small letters, digits, '.', ':' and '-', and neither coverage: nor expect:"
        )
    if not written.why.strip():
        raise UsageError(f"{place} has an empty `why`: say in a few words what it stands for")
    rule = Rule(
        id=written.id, outcome=_outcome(written, place), why=written.why, origins=_origins(written.origins, place),
        function=patterns.made(written.function, f"`function` of {place}"),
        reason=patterns.made(written.reason, f"`reason` of {place}", re.IGNORECASE), turned=frozenset(written.turned),
    )  # fmt: skip
    if Origin.ELSEWHERE in rule.origins and _explains_all(rule):
        raise UsageError(f"{place} explains every skip that nobody known raised: name a function or a text")
    return rule


def _outcome(written: Written, place: str) -> Outcome:
    try:
        found = Outcome.from_word(written.outcome)
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None
    if found not in OUTCOMES:
        words = ", ".join(sorted(each.word for each in OUTCOMES))
        raise UsageError(f"{place} names the outcome {found.word!r}: a rule for skips names one of {words}")
    return found


def _origins(words: Iterable[str], place: str) -> frozenset[Origin]:
    known = {each.value for each in Origin}
    wrong = [each for each in words if each not in known]
    if wrong or not words:
        shown = f"the origin {wrong[0]!r}" if wrong else "no origin"
        raise UsageError(f"{place} has {shown}: choose of {', '.join(sorted(known))}")
    return frozenset(Origin(each) for each in words)


def _explains_all(rule: Rule) -> bool:
    """Whether not even the code and the text of a skip matter; a pattern that takes the empty text takes any."""
    return all(each is None or each.search("") is not None for each in (rule.function, rule.reason))


def _require_one_outcome(rules: Sequence[Rule], path: Path) -> None:
    seen: dict[str, Outcome] = {}
    for each in rules:
        if seen.setdefault(each.id, each.outcome) is not each.outcome:
            raise UsageError(f"rule {each.id!r} of {path} has two outcomes: an id stands for one of them")


def _require_reached(written: Written, rule: Rule, rules: Sequence[Rule], path: Path) -> None:
    """Each rule shows skips that it is for; one that an earlier rule takes first can never match."""
    if not written.examples:
        raise UsageError(f"rule {rule.id!r} of {path} has no example: give one, so that it is known to match")
    for each in written.examples:
        skip = _skip(each, f"an example of rule {rule.id!r} of {path}")
        found = first(skip, rules)
        if found is not rule:
            says = "no rule matches" if found is None else f"rule {found.id!r} matches first"
            raise UsageError(f"rule {rule.id!r} of {path}: {says} its example {skip.reason!r}: mend one of the two")


def _skip(example: Example, place: str) -> Skip:
    (origin,) = _origins((example.origin,), place)
    return Skip(origin=origin, reason=example.reason, function=example.function, turned=example.turned)
