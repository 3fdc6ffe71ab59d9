"""One test with its history, and search over all tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse

from conformance.provenance import sides
from conformance.provenance.sides import Ours, Theirs
from conformance.store import (
    HistoryRow,
    RunRow,
    Store,
    attempts_of,
    find_test,
    history,
    numbered_tests,
    rows_of,
    search_tests,
    status,
)
from web import links
from web.answers import View, page, store_of
from web.pages.finding import run_named
from web.reproduce import command, places_of
from web.shapes import Attempt, Ended, Past, Run, Test, attempt_of, ended_of, past_of, run_of, test_of

router = APIRouter()

_TESTS_A_PAGE: Final = 100
_LEAST_TEXT: Final = 2
_RUNS_OF_A_HISTORY: Final = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class OneTest:
    """A test in one run, and what it came to in others. `older`: the history goes on. `reproduce`: a shell command.

    `theirs` is who in PyTorch decided a skip or foresaw the failure, `ours` the rule by which it has its outcome.
    """

    test: Test
    run: Run
    ended: Ended
    attempts: Sequence[Attempt]
    history: Sequence[Past]
    older: bool
    reproduce: str
    theirs: Theirs | None
    ours: Ours | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Tests whose identity contains a text. `next` is the `after` of the next page, None on the last one."""

    q: str
    tests: Sequence[Test]
    next: int | None


@page(router, "/tests/{number}")
def one_test(request: Request, number: int, run: str = "") -> View:
    """A test: identity, outcome with rule and reason, attempts, history, how to run it alone; `run`: default latest."""
    store = store_of(request)
    row = numbered_tests(store, [number]).get(number) if number < 2**31 else None
    if row is None:
        raise HTTPException(404, f"there is no test {number}: search for a part of its name")
    past = history(store, number, _RUNS_OF_A_HISTORY + 1)
    shown = _shown(store, past, run_named(store, run).run if run else None, number)
    (ended,) = rows_of(store, shown, [number])
    test = test_of(number, row.id)
    data = OneTest(
        test=test, run=run_of(shown), ended=ended_of(ended),
        attempts=[attempt_of(each) for each in attempts_of(store, shown, number)],
        history=past_of(past[:_RUNS_OF_A_HISTORY]), older=len(past) > _RUNS_OF_A_HISTORY,
        reproduce=command(row.key, shown.target, shown.release, places_of(row.id, shown.selection, shown.environment)),
        theirs=sides.theirs(ended.source), ours=sides.ours(ended.rule, shown.target),
    )  # fmt: skip
    return View(
        title=test.title, template="test.html", data=data, simulated=shown.simulated, extra={"chosen_run": run}
    )  # fmt: skip


def _shown(store: Store, past: Sequence[HistoryRow], wanted: RunRow | None, number: int) -> RunRow:
    if not past:
        raise HTTPException(404, f"no stored run planned test {number}: search for a part of its name")
    if wanted is None:
        return past[0].run
    # The history ends somewhere; the run's own vector knows.
    planned = status(store, wanted)
    if number >= len(planned) or not planned[number]:
        raise HTTPException(404, f"run {wanted.uid} did not plan this test: leave out run= to see its latest outcome")
    return wanted


@router.get("/test", include_in_schema=False)
def named_test(request: Request, key: str, run: str = "") -> RedirectResponse:
    """From a test's identity to its page."""
    row = find_test(store_of(request), key)
    if row is None:
        raise HTTPException(404, "no stored run planned a test of that identity: search for a part of its name")
    return RedirectResponse(links.test(row.number, run=run), 307)


@page(router, "/search")
def search(request: Request, q: str = "", after: int = -1) -> View:
    """Tests whose identity contains `q`, whatever the case."""
    wanted = q.strip()
    rows = []
    if len(wanted) >= _LEAST_TEXT:
        rows = list(search_tests(store_of(request), wanted, after=after, limit=_TESTS_A_PAGE + 1))
    shown = [test_of(each.number, each.id) for each in rows[:_TESTS_A_PAGE]]
    data = Found(q=wanted, tests=shown, next=shown[-1].number if len(rows) > _TESTS_A_PAGE else None)
    return View(title="Search", template="search.html", data=data, simulated=False, extra={"least": _LEAST_TEXT})
