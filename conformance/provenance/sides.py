"""Both sides of an outcome: who in PyTorch decided, and by which rule or entry of ours it became its word."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from conformance.errors import UsageError
from conformance.expectations import Chosen
from conformance.expectations.chosen import written
from conformance.expectations.coverage import expect_rule, skip_rule
from conformance.expectations.entries import Entry
from conformance.expectations.files import Written
from conformance.outcomes import Source
from conformance.provenance import rule_files
from conformance.provenance.rules import Origin

WHO: Final[Mapping[str, str]] = MappingProxyType(
    {
        Origin.DECORATOR: "a decorator in the test file",
        Origin.OPINFO: "the entry of the test's own operator, module or optimizer",
        Origin.GATE: "a guard of PyTorch's test harness",
        Origin.BODY: "the test itself",
        Origin.MARKER: "a pytest marker in the test file",
        Origin.MODULE: "the test file, while it was imported",
        Origin.BACKEND: "the backend",
        Origin.ELSEWHERE: "code that is neither PyTorch's, the test's nor the backend's",
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Theirs:
    """PyTorch's side: who decided, in words, the code that did, `file:line` of it, and the exception it hides."""

    who: str
    code: str
    where: str
    turned: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Ours:
    """Our side: the rule and what it stands for; of an entry in a coverage file its reason, link, owner and end.

    `file` is the name of that file; the entry is the one that the file has now.
    """

    rule: str
    why: str
    reason: str = ""
    link: str = ""
    owner: str = ""
    expires: str = ""
    file: str = ""


def theirs(source: Source | None) -> Theirs | None:
    """PyTorch's side in words; None where PyTorch decided nothing."""
    if source is None:
        return None
    code = source.code.replace(".<locals>", "").replace(".__call__", "")
    return Theirs(who=WHO.get(source.who, source.who), code=code, where=source.where, turned=source.turned)


def ours(rule: str, target: str) -> Ours | None:
    """Our side of an outcome of a run on that target; None for an outcome that needed no rule.

    Entries are looked up in the target's own file and in those that this process was told, never in those that a run
    names: a stored run comes from anywhere.
    """
    if not rule:
        return None
    found = _entry(rule, target)
    if found is None:
        return Ours(rule=rule, why=why(rule))
    entry = found.entry
    return Ours(
        rule=rule, why=why(rule), reason=entry.reason, link=entry.link, owner=entry.owner or "",
        expires=str(entry.expires or ""), file=found.path.name,
    )  # fmt: skip


def why(rule: str) -> str:
    """What a rule stands for in a few words; "" for one that is not known here, as of another version."""
    named = _rules().get(rule) or _meanings()["rules"].get(rule)
    if named:
        return named
    return next((text for start, text in _meanings()["prefixes"].items() if rule.startswith(start)), "")


@cache
def _rules() -> Mapping[str, str]:
    return {each.id: each.why for each in reversed(rule_files.every())}


@cache
def _meanings() -> Mapping[str, Mapping[str, str]]:
    read: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("meanings.toml").read_text())
    return read


def _entry(rule: str, target: str) -> Written | None:
    """The entry that a rule names, from the files that are there now; None when they are broken or never had it."""
    try:
        entries = written(target, Chosen.of_environment())
    except UsageError:
        return None
    return next((each for each in entries if rule in _names(each.entry)), None)


def _names(entry: Entry) -> tuple[str, str]:
    return skip_rule(entry), expect_rule(entry)
