"""Rules that explain skips: the first that matches names the outcome. Data, in rules.toml and a file of the user."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from conformance.outcomes import Outcome, Source

LONGEST_TEXT: Final = 500
"""Characters of a skip's text that rules look at: a hostile text costs no rule more than that."""

ANY: Final = "*"
"""In a rule's `turned`: an exception of whatever type."""

NO_RULE: Final = "no-rule"


class Origin(StrEnum):
    """Who skipped, told by the frame that raised or by the attribute that was set: never by the text alone."""

    DECORATOR = "decorator"
    """`unittest.skip` and its kin on the class or the function."""
    OPINFO = "opinfo"
    """A decorator that the test's own OpInfo, ModuleInfo or OptimizerInfo entry put on it."""
    GATE = "gate"
    """A guard of PyTorch's test harness, torch.testing._internal."""
    BODY = "body"
    """The test itself, its set-up, or a module beside it."""
    MARKER = "marker"
    """A pytest marker."""
    MODULE = "module"
    """The file, while it was imported: none of its tests is known."""
    BACKEND = "backend"
    """The backend, or this plugin for it."""
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, kw_only=True, slots=True)
class Skip:
    """One skip as it was seen. `function` is the qualified name of the code that raised, or of the guard.

    `turned` names the type of the exception that was caught and turned into the skip, "" when there was none. `entry`
    tells an OpInfo entry or a decorator for people; `where` is `file:line` of what skipped, "" when it is not known.
    """

    origin: Origin
    reason: str
    function: str = ""
    turned: str = ""
    entry: str = ""
    where: str = ""

    @property
    def source(self) -> Source:
        """What is recorded of it beside its reason."""
        return Source(who=self.origin.value, code=self.entry or self.function, where=self.where, turned=self.turned)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One rule: it matches when every condition that it has holds. `why` is shown beside its id.

    `function` is a pattern for the start of the code's qualified name, `reason` one for any part of the text, whatever
    the case; empty ones, and an empty `turned`, are no condition.
    """

    id: str
    outcome: Outcome
    why: str
    origins: frozenset[Origin]
    function: re.Pattern[str] | None = None
    reason: re.Pattern[str] | None = None
    turned: frozenset[str] = frozenset()

    def matches(self, skip: Skip) -> bool:
        """Whether this rule explains the skip."""
        return (
            skip.origin in self.origins
            and (self.function is None or self.function.match(skip.function) is not None)
            and (self.reason is None or self.reason.search(skip.reason[:LONGEST_TEXT]) is not None)
            and (not self.turned or self._turned(skip.turned))
        )

    def _turned(self, name: str) -> bool:
        return bool(name) if ANY in self.turned else name in self.turned


def first(skip: Skip, rules: Sequence[Rule]) -> Rule | None:
    """The rule that explains a skip; None where none does."""
    return next((each for each in rules if each.matches(skip)), None)


def explain(skip: Skip, rules: Sequence[Rule] | None = None) -> tuple[Outcome, str]:
    """The outcome and the rule id of a skip; skip_unclassified where no rule explains it.

    Without `rules` those of rules.toml and of the user's own file count.
    """
    if rules is None:
        # Imported late: reading rules needs the rules' own types.
        from conformance.provenance import rule_files

        rules = rule_files.every()
    found = first(skip, rules)
    return (Outcome.SKIP_UNCLASSIFIED, NO_RULE) if found is None else (found.outcome, found.id)
