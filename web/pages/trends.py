"""Releases of one target one after another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fastapi import APIRouter, HTTPException, Request

from conformance.store import Point, targets_of, trend
from web.answers import View, page, store_of
from web.shapes import words

router = APIRouter()

_RELEASES: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """One suite of one release. `exceptions` are skipped for coverage or unexplained, or expected to fail.

    `ops` counts them by what became of their tests; `gained` and `lost` are those served now and not before, and the
    other way round, of ops that both releases have.
    """

    release: str
    runs: Sequence[str]
    started: datetime
    simulated: bool
    planned: int
    eligible: int
    passed: int
    right: int
    exceptions: int
    flaky: int
    outcomes: Mapping[str, int]
    seconds: Mapping[str, float]
    ops: Mapping[str, int]
    excluded: Sequence[str]
    gained: Sequence[str]
    lost: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Trends:
    """By suite the last releases of a target, oldest first."""

    target: str
    targets: Sequence[str]
    suites: Mapping[str, Sequence[Release]]


@page(router, "/trends")
def trends(request: Request, target: str = "") -> View:
    """The last releases of a target, which may be left out where only one has any."""
    store = store_of(request)
    known = targets_of(store)
    if target and target not in known:
        raise HTTPException(404, "no release of that target has a whole, sealed run: choose one of /trends")
    chosen = target or (known[0] if len(known) == 1 else "")
    points = trend(store, chosen, _RELEASES) if chosen else []
    suites = {name: [_release(each) for each in points if each.suite == name] for name in _suites(points)}
    data = Trends(target=chosen, targets=known, suites=suites)
    return View(
        title=f"Trends of {chosen}" if chosen else "Trends", template="trends.html", data=data,
        simulated=any(each.simulated for each in points),
    )  # fmt: skip


def _suites(points: Sequence[Point]) -> list[str]:
    return list(dict.fromkeys(each.suite for each in points))


def _release(point: Point) -> Release:
    ops = point.ops
    return Release(
        release=point.release, runs=point.runs, started=point.started, simulated=point.simulated,
        planned=point.planned, eligible=point.eligible, passed=point.passed, right=point.right,
        exceptions=point.exceptions, flaky=point.flaky, outcomes=words(point.counts), seconds=point.seconds,
        ops={
            "served": len(ops.served), "fallen": len(ops.fallen), "failing": len(ops.failing),
            "excluded": len(ops.excluded),
        },
        excluded=sorted(ops.excluded), gained=point.gained, lost=point.lost,
    )  # fmt: skip
