"""Which ops stood between a model and the device: its outcome, its exception, the dispatcher and replayed calls tell.

Nothing is guessed: an op counts when a tracker saw it on the CPU, when the exception of a refusal names it, when the
dispatcher says that nobody serves it, or when the same call, replayed alone, was not right on the device.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from conformance.inventory.overloads import Overloads, Registration
from conformance.outcomes import Attempt, Outcome
from conformance.record import Result
from sweeps.calls.files import Calls
from sweeps.calls.planning import digest_of


class How(StrEnum):
    """What shows that an op is in the way."""

    FALLBACK = "fallback"
    """The tracker saw it on the CPU."""
    REFUSED = "refused"
    """The exception that ended the attempt says that the device does not have it."""
    COMPILER = "compiler"
    """The compiler's message names it."""
    REGISTERED = "registered"
    """The dispatcher says that nobody serves it."""
    REPLAYED = "replayed"
    """A call that the model makes was not right when it was replayed alone."""


WRONG: Final = frozenset(
    {Outcome.COMPILE_FAIL, Outcome.COMPILE_TIMEOUT, Outcome.FAIL, Outcome.ERROR, Outcome.TIMEOUT, Outcome.CRASH,
     Outcome.XFAIL}
)  # fmt: skip
"""Outcomes of models that did not get a right answer."""

_NAMED: Final = re.compile(r"\baten(?:::|\.)([A-Za-z_]\w{0,100})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What stands between one signature and the device in one mode and dtype.

    `ops` are base names (`aten::sort`), each with what shows it. `closed`: nothing else was in the way, as far as the
    evidence goes; otherwise there may be more, as where an attempt ended before the rest was asked. `calls` are the
    digests of calls that were not right when they were replayed, with their ops.
    """

    signature: str
    outcome: Outcome
    ops: Mapping[str, frozenset[How]]
    closed: bool
    calls: Mapping[str, str] = field(default_factory=dict)
    rule: str = ""
    message: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """What replayed calls came to, by digest."""

    outcomes: Mapping[str, Outcome]

    @classmethod
    def of(cls, results: Iterable[Result]) -> "Replayed":
        """The results of a run of suite model_ops."""
        return cls(outcomes={digest_of(each.test.id): each.outcome for each in results})

    def bad(self, calls: Iterable[str]) -> tuple[str, ...]:
        """Those of some calls that were not right, or ran on the CPU."""
        return tuple(each for each in calls if self.outcomes.get(each) in WRONG or self._fell(each))

    def _fell(self, call: str) -> bool:
        return self.outcomes.get(call) is Outcome.FALLBACK

    def knows(self, calls: Iterable[str]) -> bool:
        """Whether each of some calls came to an answer, right or wrong."""
        told = WRONG | {Outcome.PASS, Outcome.FALLBACK}
        return all(self.outcomes.get(each) in told for each in calls)


@dataclass(frozen=True, kw_only=True, slots=True)
class Witnesses:
    """What is known beside the outcomes of models."""

    calls: Calls
    overloads: Overloads | None = None
    replayed: Replayed = Replayed(outcomes={})

    def standing(self, result: Result) -> Standing:
        """What stands between a planned model and the device."""
        signature, shown = result.test.id.name.partition("_")[0], result.shown
        made = self.calls.models.get((signature, result.test.id.dtype), {})
        found: dict[str, set[How]] = {}
        for op, how in self._told(result.outcome, shown, made):
            found.setdefault(op, set()).add(how)
        bad = self.replayed.bad(made) if result.outcome in WRONG | {Outcome.FALLBACK} else ()
        closed = result.outcome is Outcome.FALLBACK or (
            result.outcome in WRONG and bool(made) and self.replayed.knows(made)
        )
        return Standing(
            signature=signature, outcome=result.outcome, rule=shown.rule, message=shown.message, closed=closed,
            ops={op: frozenset(hows) for op, hows in sorted(found.items())},
            calls={each: self.calls.calls[each].base for each in bad},
        )  # fmt: skip

    def _told(self, outcome: Outcome, shown: Attempt, made: Mapping[str, int]) -> Iterator[tuple[str, How]]:
        if outcome not in WRONG | {Outcome.FALLBACK, Outcome.UNPROVEN}:
            return
        yield from ((op, How.FALLBACK) for op in shown.fallback_ops)
        if outcome not in WRONG:
            return
        if shown.rule == "refused":
            yield from ((op, How.REFUSED) for op in named(shown.message)[:1])
        if outcome is Outcome.COMPILE_FAIL:
            yield from ((op, How.COMPILER) for op in named(shown.message)[:1])
        yield from ((self.calls.calls[each].base, How.REPLAYED) for each in self.replayed.bad(made))
        yield from ((op, How.REGISTERED) for op in self._unserved(made))

    def _unserved(self, made: Mapping[str, int]) -> Iterator[str]:
        if self.overloads is not None:
            nobody = set(self.overloads.served.get(Registration.NONE, ()))
            known = (self.calls.calls[each] for each in made)
            yield from (each.base for each in known if each.op in nobody and not each.host)


def named(message: str) -> list[str]:
    """The aten ops that a message names, in order."""
    return [f"aten::{each}" for each in dict.fromkeys(_NAMED.findall(message))]
