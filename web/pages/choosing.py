"""Which tests of a run an address asks for: the same parameters on every page that shows a part of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from conformance.store import Filter, Kind
from web.links import NO_LABEL
from web.pages.finding import outcome_named

Words = Annotated[list[str], Query()]


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What restricts a list of tests, as given in the address; empty values restrict nothing."""

    outcome: Sequence[str] = ()
    suite: str = ""
    kind: str = ""
    op: str = ""
    dtype: str = ""
    rule: str = ""
    cause: str = ""
    flaky: str = ""
    order: str = ""
    leaks: str = ""
    q: str = ""

    @property
    def filter(self) -> Filter:
        """The same for the store; 400 for an unknown outcome."""
        given = {Kind.SUITE: self.suite, Kind.KIND: self.kind, Kind.OP: self.op, Kind.DTYPE: self.dtype}
        return Filter(
            outcomes=frozenset(outcome_named(each) for each in self.outcome),
            parts=labelled({part: [label] if label else [] for part, label in given.items()}),
            rule=self.rule, cause=self.cause, flaky=bool(self.flaky), text=self.q,
            order_dependent=bool(self.order), leaked=bool(self.leaks),
        )  # fmt: skip

    @property
    def query(self) -> dict[str, str | Sequence[str]]:
        """The parts of the address."""
        return {name: getattr(self, name) for name in self.__slots__}


def labelled(given: Mapping[Kind, Sequence[str]]) -> dict[Kind, frozenset[str]]:
    """Labels as given in an address, for the store; a part of which none is given does not restrict."""
    wanted = {part: [each for each in labels if each] for part, labels in given.items()}
    return {
        part: frozenset("" if each == NO_LABEL else each for each in labels)
        for part, labels in wanted.items()
        if labels
    }


def choice(
    outcome: Words = [],  # noqa: B006 - FastAPI copies defaults
    suite: str = "",
    kind: str = "",
    op: str = "",
    dtype: str = "",
    rule: str = "",
    cause: str = "",
    flaky: str = "",
    order: str = "",
    leaks: str = "",
    q: str = "",
) -> Choice:
    """The choice that an address makes."""
    return Choice(
        outcome=outcome, suite=suite, kind=kind, op=op, dtype=dtype, rule=rule, cause=cause, flaky=flaky, order=order,
        leaks=leaks, q=q,
    )  # fmt: skip
