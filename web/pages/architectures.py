"""The models of a run by architecture: all of them, one of them, and how many of the most downloaded ones run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, HTTPException, Query, Request

from sweeps.reports import architecture, counts, coverage
from sweeps.reports.architecture import Standing
from sweeps.reports.counts import By
from sweeps.reports.coverage import MOST, Covered, Share
from web.answers import View, page
from web.links import NO_LABEL
from web.pages.finding import opened, view_of
from web.pages.models import Chosen, Group, chosen_of, group_of, models_of, ways_of
from web.shapes import Run, run_of

router = APIRouter()

_GROUPS_A_PAGE: Final = 200
_MOST_ASKED: Final = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Groups:
    """A run's models by architecture or family, most downloaded first. `groups_found` counts those of all pages."""

    run: Run
    remark: str
    by: str
    ways: Sequence[Chosen]
    way: Chosen
    total: Group
    groups: Sequence[Group]
    groups_found: int
    next: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class OneArchitecture:
    """One architecture: its models in each way, and the signatures and refusals that stand for them."""

    run: Run
    remark: str
    architecture: str
    family: str
    counted: Mapping[str, Group]
    standings: Sequence[Standing]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCoverage:
    """Of the most downloaded text-generation architectures, how many run. See `sweeps.reports.coverage.Coverage`."""

    run: Run
    remark: str
    dtype: str
    asked: int
    known: int
    unnamed: int
    shares: Sequence[Share]
    architectures: Sequence[Covered]


@page(router, "/runs/{run:path}/architectures")
def run_architectures(
    request: Request, run: str, by: By = By.ARCHITECTURE, mode: str = "", dtype: str = "", after: int = 0
) -> View:
    """A run's models by architecture or family: the totals are those of its catalogue."""
    store, found = opened(request, run)
    if by is By.MODEL:
        raise HTTPException(400, f"by is {by.value!r}: choose {By.ARCHITECTURE.value} or {By.FAMILY.value}")
    models = models_of(store, found)
    way = models.way(mode, dtype)
    rows, start = counts.grouped(models, way, by), max(after, 0)
    end = start + _GROUPS_A_PAGE
    data = Groups(
        run=run_of(found.run), remark=found.remark, by=by.value, ways=ways_of(models), way=chosen_of(way),
        total=group_of(counts.total(models, way)), groups=[group_of(each) for each in rows[start:end]],
        groups_found=len(rows), next=end if end < len(rows) else None,
    )  # fmt: skip
    return view_of(found.run, f"Models of {found.run.uid} by {by.value}", "architectures.html", data)


@page(router, "/runs/{run:path}/architecture")
def one_architecture(request: Request, run: str, name: str) -> View:
    """One architecture of a run: its signatures with what each came to, and the models that they stand for."""
    store, found = opened(request, run)
    models = models_of(store, found)
    label = "" if name == NO_LABEL else name
    rows = architecture.standings(models, label)
    if not rows:
        raise HTTPException(404, f"run {found.run.uid} has no model of architecture {name!r}: its list has all of them")
    family = next(each.family for each in models.table.stands if each.architecture == label)
    counted = {
        f"{way.mode} {way.dtype}": group_of(each)
        for way in models.ways
        for each in counts.grouped(models, way, By.ARCHITECTURE)
        if each.label == label
    }
    data = OneArchitecture(
        run=run_of(found.run), remark=found.remark, architecture=label, family=family, counted=counted, standings=rows
    )  # fmt: skip
    return view_of(found.run, f"{name} in {found.run.uid}", "architecture.html", data)


@page(router, "/runs/{run:path}/coverage")
def run_coverage(
    request: Request, run: str, dtype: str = "", top: Annotated[int, Query(ge=1, le=_MOST_ASKED)] = MOST
) -> View:
    """How many of the `top` most downloaded text-generation architectures run in each mode, and what others lack."""
    store, found = opened(request, run)
    models = models_of(store, found)
    made = coverage.coverage(store, models, models.way("", dtype).dtype, top)
    data = RunCoverage(
        run=run_of(found.run), remark=found.remark, dtype=made.dtype, asked=made.asked, known=made.known,
        unnamed=made.unnamed, shares=made.shares, architectures=made.architectures,
    )  # fmt: skip
    return view_of(
        found.run, f"Architecture coverage of {found.run.uid}", "coverage.html", data, lacking=coverage.lacking(made),
        dtypes=sorted({each.dtype for each in models.ways}),
    )  # fmt: skip
