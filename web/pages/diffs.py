"""Two runs or releases side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request

from conformance.pairs import PairClass
from conformance.store import (
    Comparison,
    NamedGroup,
    Store,
    compare,
    list_runs,
    named_groups,
)
from web.answers import View, page, store_of
from web.marks import CHANGE, IN_A_BAR
from web.pages.changes import Changed, changes_after, place_named
from web.pages.finding import class_named, standing_named
from web.shapes import Run, run_of

router = APIRouter()

_ROWS_A_PAGE: Final = 100
_RUNS_TO_CHOOSE: Final = 200
_GROUPS_SHOWN: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """Runs that can be compared, newest first; a release's name may be given too."""

    runs: Sequence[Run]
    releases: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Because:
    """Tests of one class that changed for one reason; `number` names the reason in an address."""

    change: str
    number: int
    reason: str
    count: int
    example: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Transition:
    """How many tests went from one outcome to another; an empty word: not planned there."""

    a: str
    b: str
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Diff:
    """Two runs side by side. `doubts` say why the comparison is inconclusive; `total` counts the rows asked for."""

    a: Run
    b: Run
    remarks: Sequence[str]
    doubts: Sequence[str]
    tests: int
    comparable: int
    blocking: int
    classes: Mapping[str, int]
    groups: Sequence[Because]
    groups_left_out: int
    transitions: Sequence[Transition]
    shown: Sequence[str]
    rows: Sequence[Changed]
    total: int
    next: str


@page(router, "/diff")
def two_runs(
    request: Request,
    a: str = "",
    b: str = "",
    change: Annotated[list[str], Query(alias="class")] = [],  # noqa: B006 - FastAPI copies defaults
    reason: int | None = None,
    after: str = "",
) -> View:
    """Two runs or releases: counts by class, groups by reason, transitions, rows; `class` may be given repeatedly."""
    store = store_of(request)
    if not a or not b:
        return _choices(store, a, b)
    first, second = standing_named(store, a), standing_named(store, b)
    compared = compare(store, first, second)
    asked = {class_named(each) for each in change} or set(PairClass) - {PairClass.SAME}
    wanted = [each for each in CHANGE if each in asked]
    rows = changes_after(store, compared, wanted, reason, place_named(after), _ROWS_A_PAGE)
    groups = _groups(store, compared)
    data = Diff(
        a=run_of(compared.a), b=run_of(compared.b), remarks=[*first.remarks, *second.remarks],
        doubts=_doubts(compared), tests=sum(compared.counts.values()), comparable=compared.comparable,
        blocking=compared.blocking, classes=_classes(compared), groups=groups[:_GROUPS_SHOWN],
        groups_left_out=max(0, len(groups) - _GROUPS_SHOWN), transitions=_transitions(compared),
        shown=[each.word for each in wanted], rows=rows.rows, total=rows.total,
        next=rows.next,
    )  # fmt: skip
    return _view(data, compared, (a, b), change, reason, after)


def _view(
    data: Diff, compared: Comparison, names: tuple[str, str], change: Sequence[str], reason: int | None, after: str
) -> View:
    digests = "-".join(run.digest for side in compared.runs for run in side)
    return View(
        title=f"{names[0]} → {names[1]}", template="diff.html", data=data, simulated=data.a.simulated,
        extra={
            "names": names, "change": list(change), "reason": reason, "after": after, "table": _table(data.transitions)
        },
        digest="" if compared.unsealed else digests,
    )  # fmt: skip


def _choices(store: Store, a: str, b: str) -> View:
    runs = [run_of(each) for each in list_runs(store, limit=_RUNS_TO_CHOOSE)]
    releases = sorted({each.release for each in runs})
    return View(
        title="Compare", template="compare.html", data=Choices(runs=runs, releases=releases), simulated=False,
        extra={"a": a, "b": b},
    )  # fmt: skip


def _doubts(compared: Comparison) -> list[str]:
    doubts = [f"run {each.uid} is not sealed: some of its tests were not run" for each in compared.unsealed]
    return doubts if compared.comparable else [*doubts, "no test could be compared"]


def _classes(compared: Comparison) -> dict[str, int]:
    counts = compared.counts
    return {each.word: counts[each] for each in CHANGE if each in counts}


def _groups(store: Store, compared: Comparison) -> list[Because]:
    """Groups by reason in the order of a page, kept: they are the same on every page of a comparison."""
    key = ("groups by reason", compared.key)
    return store.cache.get(key, lambda: _ranked(named_groups(store, compared)), lambda made: 500 * len(made))


def _ranked(found: Sequence[NamedGroup]) -> list[Because]:
    order = {each: place for place, each in enumerate(CHANGE)}
    ranked = sorted(found, key=lambda each: (order[each.group.pair], -each.group.count))
    return [
        Because(
            change=each.group.pair.word, number=each.group.phrase, reason=each.reason, count=each.group.count,
            example=each.example,
        )
        for each in ranked
    ]  # fmt: skip


def _transitions(compared: Comparison) -> list[Transition]:
    return [
        Transition(a=before.word if before else "", b=after.word if after else "", count=count)
        for (before, after), count in compared.transitions.items()
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Transitions laid out: rows are outcomes in a, columns outcomes in b."""

    rows: Sequence[str]
    columns: Sequence[str]
    counts: Mapping[tuple[str, str], int]


def _table(transitions: Sequence[Transition]) -> Table:
    order = [*(each.word for each in IN_A_BAR), ""]
    counts = {(each.a, each.b): each.count for each in transitions}
    return Table(
        rows=[each for each in order if any(a == each for a, _ in counts)],
        columns=[each for each in order if any(b == each for _, b in counts)],
        counts=counts,
    )
