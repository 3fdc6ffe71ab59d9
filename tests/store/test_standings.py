"""What a release's name stands for: all its sealed runs under one set of conditions, the worst of each test."""

from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.pairs import PairClass
from conformance.plan import Selection
from conformance.store import Comparison, Store, compare, diff_rows, ingest, standing
from tests.runs import attempt, make_run

DAY = 86_400.0


def classes(store: Store, found: Comparison) -> dict[str, PairClass]:
    return {each.id.name: each.pair for each in diff_rows(store, found, tuple(PairClass), limit=1_000).rows}


def test_several_runs_of_a_release_are_combined_by_the_worst_and_rows_tell_of_the_run_that_stands(
    store: Store, tmp_path: Path
) -> None:
    wrong = attempt(Outcome.FAIL, cause="AssertionError: off", message="off by one")
    ingest(store, make_run(tmp_path / "base", {"x": Outcome.PASS, "y": Outcome.PASS}, release="sim-1.0"))
    ingest(store, make_run(tmp_path / "one", {"x": wrong, "y": Outcome.PASS}, release="sim-1.1", started=DAY))
    ingest(
        store, make_run(tmp_path / "two", {"x": Outcome.PASS, "y": Outcome.PASS}, release="sim-1.1", started=2 * DAY)
    )
    found = standing(store, "sim-1.1")
    assert [each.uid for each in found.runs] == ["two", "one"]
    assert "2 sealed runs, the worst outcome of each test stands: two of" in found.remarks[0]
    compared = compare(store, standing(store, "sim-1.0"), found)
    assert classes(store, compared) == {"x": PairClass.REGRESSED, "y": PairClass.SAME}
    (row,) = diff_rows(store, compared, [PairClass.REGRESSED]).rows
    assert (row.b.outcome, row.b.flaky, row.b.message) == (Outcome.FAIL, True, "off by one")
    assert (row.a.outcome, row.a.flaky) == (Outcome.PASS, False)


def test_runs_of_different_suites_are_one_release_together(store: Store, tmp_path: Path) -> None:
    for release, started in (("sim-1.0", DAY), ("sim-1.1", 2 * DAY)):
        for suite in ("ops", "models"):
            path = tmp_path / f"{suite}-{release}"
            selection = Selection(suites=(suite,), modes=(), dtypes=())
            ingest(
                store,
                make_run(path, {f"eager.{suite}.float32": Outcome.PASS}, release=release, suite=suite,
                         selection=selection, started=started),
            )  # fmt: skip
    compared = compare(store, standing(store, "sim-1.0"), standing(store, "sim-1.1"))
    assert compared.counts == {PairClass.SAME: 2}


def test_a_run_under_other_conditions_is_left_out_and_named(store: Store, tmp_path: Path) -> None:
    made = {"x": Outcome.FAIL}
    ingest(store, make_run(tmp_path / "old", made, environment={"package.torch": "2.13.0"}, started=DAY))
    ingest(store, make_run(tmp_path / "new", {"x": Outcome.PASS}, environment={"package.torch": "2.14.0"}))
    found = standing(store, "sim-1.0")
    assert [each.uid for each in found.runs] == ["new"]
    assert found.remarks[1] == "sim-1.0: left out for other conditions (torch and perhaps more): old"


def test_an_aborted_run_never_stands_beside_a_sealed_one_and_its_suite_is_said_to_lack(
    store: Store, tmp_path: Path
) -> None:
    ingest(store, make_run(tmp_path / "whole", {"x": Outcome.PASS}))
    later = {"y": Outcome.PASS, "z": None}
    ingest(store, make_run(tmp_path / "part", later, suite="t", started=1_800_000_000.0))
    found = standing(store, "sim-1.0")
    assert [each.uid for each in found.runs] == ["whole"]
    assert found.lacking == ("t",)
    assert found.remarks[-1] == "sim-1.0: not sealed and left out: part"


def test_a_release_without_a_sealed_run_is_its_latest_one_and_says_so(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "part", {"y": Outcome.PASS, "z": None}))
    found = standing(store, "sim-1.0")
    assert not found.sealed
    assert "latest run (not sealed, none is sealed over a whole profile), part of" in found.remarks[0]


def test_a_release_on_two_targets_asks_which_and_takes_an_answer(store: Store, tmp_path: Path) -> None:
    for target in ("trn2", "trn3"):
        ingest(store, make_run(tmp_path / target, {"x": Outcome.PASS}, target=target, simulated=False, release="2.30"))
    with pytest.raises(UsageError, match=r"say which, as 2\.30@trn2 or 2\.30@trn3"):
        standing(store, "2.30")
    assert standing(store, "2.30@trn3").newest.target == "trn3"
    with pytest.raises(UsageError, match="neither a stored run nor a release"):
        standing(store, "2.30@trn9")


def test_of_several_releases_the_best_outcome_of_a_test_is_compared_and_the_row_is_of_that_release(
    store: Store, tmp_path: Path
) -> None:
    broken = attempt(Outcome.FAIL, cause="bad", message="shipped broken")
    first = {"x": Outcome.PASS, "y": Outcome.PASS, "z": Outcome.PASS}
    ingest(store, make_run(tmp_path / "a", first, release="r1", started=DAY, definitions={"z": "old"}))
    ingest(store, make_run(tmp_path / "b", {**first, "x": broken}, release="r2", started=2 * DAY))
    ingest(store, make_run(tmp_path / "c", {**first, "x": broken}, release="r3", started=3 * DAY))
    beside = compare(store, standing(store, "r2"), standing(store, "r3"))
    assert beside.counts == {PairClass.SAME: 3}
    found = compare(store, [standing(store, each) for each in ("r2", "r1")], standing(store, "r3"))
    assert classes(store, found) == {"x": PairClass.REGRESSED, "y": PairClass.SAME, "z": PairClass.SAME}
    (row,) = diff_rows(store, found, [PairClass.REGRESSED]).rows
    assert found.runs[0][found.picked[0][row.number]].release == "r1"
    assert (row.a.outcome, row.b.message) == (Outcome.PASS, "shipped broken")
