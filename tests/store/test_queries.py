"""What pages and commands ask of the store: counts from the vectors, pages, search, history, names."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.plan import Decision, Selection
from conformance.store import (
    Filter,
    Kind,
    Store,
    by_outcome,
    history,
    ingest,
    list_runs,
    matrix,
    numbered_tests,
    outcome_rows,
    resolve,
    search_tests,
    slowest,
    tally,
)
from conformance.store.catalogue import like
from tests.runs import Made, attempt, identity, make_run

RESULTS: dict[str, Made] = {
    "forward.add.float32": Outcome.PASS,
    "forward.add.int64": attempt(Outcome.FALLBACK, ops=["aten::add"]),
    "forward.Add.int64": Outcome.PASS,
    "backward.mul.float32": attempt(Outcome.FAIL, cause="c", rule="assertion"),
    "out.mul.float32": Decision(outcome=Outcome.SKIP_ELIGIBILITY, rule="no-out"),
    "named-without-parts": attempt(Outcome.ERROR, cause="c", rule="exception"),
}


def names(rows: object) -> list[str]:
    return [each.id.name for each in rows]  # type: ignore[attr-defined]


@pytest.mark.parametrize("by", [Kind.OP, Kind.DTYPE, Kind.KIND, Kind.SUITE, Kind.RULE])
def test_counts_by_anything_add_up_to_the_plan(store: Store, tmp_path: Path, by: Kind) -> None:
    ingest(store, make_run(tmp_path / "r", RESULTS))
    run = resolve(store, "r").run
    tallies = tally(store, run, by)
    assert sum(each.planned for each in tallies) == run.planned
    assert sum(each.eligible for each in tallies) == run.eligible
    assert [each.label for each in tallies] == sorted(each.label for each in tallies)


def test_the_matrix_holds_every_test_with_an_op_in_its_cell(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "r", RESULTS))
    run = resolve(store, "r").run
    found = matrix(store, run)
    assert (found.ops, found.dtypes) == (["Add", "add", "mul"], ["float32", "int64"])
    assert by_outcome(found.counts[1, 1]) == {Outcome.FALLBACK: 1}
    assert by_outcome(found.counts[2, 0]) == {Outcome.FAIL: 1, Outcome.SKIP_ELIGIBILITY: 1}
    assert found.counts.sum() == 5
    assert matrix(store, run, Filter(parts={Kind.KIND: "backward"})).ops == ["mul"]


def test_filters_find_exactly_what_they_name(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "r", RESULTS))
    run = resolve(store, "r").run

    def found(chosen: Filter) -> list[str]:
        return names(outcome_rows(store, run, chosen).rows)

    assert found(Filter(parts={Kind.OP: "add"})) == ["forward.add.float32", "forward.add.int64"]
    assert found(Filter(parts={Kind.OP: "Add"})) == ["forward.Add.int64"]
    assert found(Filter(parts={Kind.OP: "nothing"})) == []
    assert found(Filter(outcomes=frozenset({Outcome.FAIL, Outcome.ERROR}))) == [
        "backward.mul.float32",
        "named-without-parts",
    ]
    assert found(Filter(rule="no-out")) == ["out.mul.float32"]
    assert found(Filter(cause="c", parts={Kind.DTYPE: "float32"})) == ["backward.mul.float32"]
    assert found(Filter(text="ADD.")) == ["forward.add.float32", "forward.add.int64", "forward.Add.int64"]
    assert found(Filter(flaky=True)) == []


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limit=st.integers(1, 9), after=st.integers(-1, 7))
def test_a_page_starts_after_the_last_one_seen(store: Store, tmp_path: Path, limit: int, after: int) -> None:
    ingest(store, make_run(tmp_path / "r", RESULTS))
    page = outcome_rows(store, resolve(store, "r").run, Filter(), after=after, limit=limit)
    assert names(page.rows) == list(RESULTS)[after + 1 :][:limit]
    assert page.total == len(RESULTS)
    assert page.after == (after + limit if after + limit < len(RESULTS) - 1 else None)


def test_the_slowest_tests_come_first(store: Store, tmp_path: Path) -> None:
    quick = attempt(Outcome.PASS)
    ingest(store, make_run(tmp_path / "r", {"quick": quick, "never": None, "twice": [quick, quick]}))
    found = slowest(store, resolve(store, "r").run)
    assert names(found) == ["quick", "twice"]


def test_a_test_s_history_is_every_run_that_planned_it_newest_first(store: Store, tmp_path: Path) -> None:
    for number, outcome in enumerate((Outcome.PASS, Outcome.FAIL, Outcome.PASS)):
        made = attempt(outcome, cause="why" if outcome is Outcome.FAIL else "")
        results: dict[str, Made] = {"a": made} if number != 2 else {"b": made}
        folder = make_run(tmp_path / f"r{number}", results, started=1.7e9 + number, definitions={"a": str(number)})
        ingest(store, folder)
    (a,) = search_tests(store, "::a")
    rows = history(store, a.number)
    assert [(each.run.uid, each.outcome, each.cause) for each in rows] == [
        ("r1", Outcome.FAIL, "why"),
        ("r0", Outcome.PASS, ""),
    ]
    assert rows[0].definition != rows[1].definition
    assert len(history(store, a.number, limit=1)) == 1


def test_search_is_by_any_part_of_the_identity_page_by_page(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "r", {f"forward.op{number}.float32": Outcome.PASS for number in range(5)}))
    first = search_tests(store, "OP", limit=3)
    rest = search_tests(store, "OP", after=first[-1].number, limit=3)
    assert names([*first, *rest]) == [f"forward.op{number}.float32" for number in range(5)]
    assert list(numbered_tests(store, [1, 99])) == [1]
    assert like(r"50%_\x") == r"%50\%\_\\x%"


def test_a_release_is_its_latest_sealed_whole_run_else_its_latest(store: Store, tmp_path: Path) -> None:
    part = Selection(suites=("s",), ops=("add",))
    ingest(store, make_run(tmp_path / "part", {"a": Outcome.PASS}, selection=part, started=1.7e9 + 5))
    found = resolve(store, "sim-1.0")
    assert found.run.uid == "part"
    assert "none is sealed over a whole profile" in found.remark
    ingest(store, make_run(tmp_path / "whole", {"a": Outcome.PASS}, started=1.7e9 + 1))
    ingest(store, make_run(tmp_path / "open", {"a": None}, started=1.7e9 + 9))
    found = resolve(store, "sim-1.0")
    assert found.run.uid == "whole"
    assert "latest sealed run over the whole profile" in found.remark
    assert resolve(store, "open").remark == ""
    with pytest.raises(UsageError, match="neither a stored run nor a release"):
        resolve(store, "nothing")


def test_runs_are_listed_newest_first_in_pages(store: Store, tmp_path: Path) -> None:
    for number in range(5):
        ingest(store, make_run(tmp_path / f"r{number}", {"a": Outcome.PASS}, started=1.7e9 + number // 2))
    first = list_runs(store, limit=3)
    rest = list_runs(store, limit=3, before=(first[-1].started, first[-1].number))
    assert [each.uid for each in [*first, *rest]] == ["r4", "r3", "r2", "r1", "r0"]
    assert list_runs(store, release="other") == []
    assert len(list_runs(store, target="sim")) == 5
    assert first[0].started.utcoffset() == timedelta(0)


def test_tests_of_two_runs_share_their_numbers(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "one", {"a": Outcome.PASS, "b": Outcome.PASS}))
    ingest(store, make_run(tmp_path / "two", {"b": Outcome.FAIL, "c": Outcome.PASS}))
    run = resolve(store, "two").run
    found = outcome_rows(store, run, Filter()).rows
    assert [(each.number, each.id, each.outcome) for each in found] == [
        (1, identity("b"), Outcome.FAIL),
        (2, identity("c"), Outcome.PASS),
    ]
    assert [each.label for each in tally(store, run, Kind.KIND)] == [""]
