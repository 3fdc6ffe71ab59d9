"""All runs, and one run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Request

from conformance.store import Kind, RunRow, Store, has_models, list_runs, slowest, tally
from web.answers import View, page, store_of
from web.pages.dtypes import dtype_order
from web.pages.finding import opened, run_named, view_of
from web.shapes import Counted, Ended, Run, counted_of, ended_of, run_of

router = APIRouter()

_RUNS_A_PAGE: Final = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Runs:
    """Runs, newest first. `next` is the `before` of the next page, empty on the last one."""

    runs: Sequence[Run]
    next: str


@dataclass(frozen=True, kw_only=True, slots=True)
class OneRun:
    """One run. `remark` says which run a release's name stood for. `slowest` is by all phases together.

    `rules` and `causes` are counted over the tests that have one, most tests first.
    """

    run: Run
    remark: str
    selection: Mapping[str, Sequence[str]]
    suites: Sequence[Counted]
    kinds: Sequence[Counted]
    dtypes: Sequence[Counted]
    rules: Sequence[Counted]
    causes: Sequence[Counted]
    slowest: Sequence[Ended]
    environment: Mapping[str, str]


@page(router, "/runs")
def all_runs(request: Request, target: str = "", release: str = "", before: str = "") -> View:
    """Runs, newest first; `target` and `release` restrict them, `before` is a run's id."""
    store = store_of(request)
    last = run_named(store, before).run if before else None
    found = list_runs(
        store, target=target, release=release, before=(last.started, last.number) if last else None,
        limit=_RUNS_A_PAGE + 1,
    )  # fmt: skip
    shown = [run_of(each) for each in found[:_RUNS_A_PAGE]]
    data = Runs(runs=shown, next=shown[-1].run if len(found) > _RUNS_A_PAGE else "")
    return View(
        title="Runs", template="runs.html", data=data, simulated=any(each.simulated for each in shown),
        extra={"target": target, "release": release, "before": before},
    )  # fmt: skip


@page(router, "/runs/{run:path}")
def one_run(request: Request, run: str) -> View:
    """One run: outcomes with denominators, by suite, kind, dtype, cause and rule, environment, slowest tests."""
    store, found = opened(request, run)
    row = found.run
    data = OneRun(
        run=run_of(row), remark=found.remark, selection=_selection(row), suites=_counted(store, row, Kind.SUITE),
        kinds=_counted(store, row, Kind.KIND), dtypes=_by_dtype(store, row),
        rules=_most_first(store, row, Kind.RULE),
        causes=_most_first(store, row, Kind.CAUSE), slowest=[ended_of(each) for each in slowest(store, row)],
        environment=dict(sorted({**row.fingerprint, **row.environment}.items())),
    )  # fmt: skip
    return view_of(row, f"Run {row.uid}", "run.html", data, models_here=has_models(store, row))


def _counted(store: Store, row: RunRow, by: Kind) -> list[Counted]:
    return [counted_of(each) for each in tally(store, row, by)]


def _by_dtype(store: Store, row: RunRow) -> list[Counted]:
    found = _counted(store, row, Kind.DTYPE)
    return [found[place] for place in dtype_order([each.label for each in found])]


def _most_first(store: Store, row: RunRow, by: Kind) -> list[Counted]:
    named = [each for each in _counted(store, row, by) if each.label]
    return sorted(named, key=lambda each: -each.planned)


def _selection(row: RunRow) -> dict[str, Sequence[str]]:
    chosen = row.selection
    parts = {"suites": chosen.suites, "ops": chosen.ops, "tests": chosen.tests, "keys": chosen.keys}
    return {name: values for name, values in parts.items() if values} | (
        {"shard": [chosen.shard]} if chosen.shard else {}
    )
