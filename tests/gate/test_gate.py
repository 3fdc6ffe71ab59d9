"""`conformance gate`: the verdicts and exit codes, what it names, and that its numbers are those of the comparison."""

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.outcomes import Attempt, Outcome
from conformance.plan import Selection
from conformance.store import Store, ingest
from tests.conftest import Command, Said
from tests.runs import Made, attempt, make_run

DAY = 86_400.0
NAMES = [f"forward.op{number}.float32" for number in range(20)]
ALL: dict[str, Made] = dict.fromkeys(NAMES, Outcome.PASS)


def failed(cause: str = "AssertionError: off") -> Attempt:
    return attempt(Outcome.FAIL, cause=cause)


def two(store: Store, path: Path, changes: dict[str, Made], **more: Any) -> None:
    """Release r1 with every test right, and r2 with some changes."""
    ingest(store, make_run(path / "a", ALL, release="r1", started=DAY))
    ingest(store, make_run(path / "b", {**ALL, **changes}, release="r2", started=2 * DAY, **more))


def answer(said: Said) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said.out)
    assert found["exit"] == said.code
    assert found["counts"]["blocking"] == found["counts"]["waived"] + found["counts"]["effective"]
    assert found["counts"]["effective"] == sum(each["tests"] for each in found["causes"])
    assert found["counts"]["tests"] == sum(found["classes"].values())
    return found


def test_a_release_beside_itself_may_ship(command: Command, store: Store, tmp_path: Path) -> None:
    two(store, tmp_path, {})
    said = command("gate", "--candidate", "r2", "--baseline", "r2")
    assert said.code == 0
    assert said.out.startswith("MAY SHIP (SIMULATION")
    assert "0 tests block by 0 causes (base 0, waived 0) of 20 comparable (exit 0: fine)" in said.err


def test_the_release_before_is_the_baseline_and_what_blocks_is_named_and_nothing_else(
    command: Command, store: Store, tmp_path: Path
) -> None:
    two(store, tmp_path, {NAMES[0]: failed(), NAMES[1]: failed(), NAMES[2]: attempt(Outcome.FALLBACK, ops=["aten::x"])})
    found = answer(command("gate", "--candidate", "r2", "--format", "json"))
    assert (found["verdict"], found["exit"]) == ("blocked", 1)
    assert [each["name"] for each in found["baselines"]] == ["r1"]
    assert [(each["reason"], each["tests"], each["classes"]) for each in found["causes"]] == [
        ("AssertionError: off", 2, {"regressed": 2}), ("on the CPU: aten::x", 1, {"fell_back": 1}),
    ]  # fmt: skip
    listed = command("gate", "--candidate", "r2", "--tests-of", found["causes"][0]["cause"]).out.splitlines()
    assert listed == [f"s::f.py::C::{each}" for each in NAMES[:2]]
    table = command("gate", "--candidate", "r2").out
    assert "BLOCKED" in table
    assert f"conformance run --failed-of b --only {found['causes'][0]['cause']}.txt" in table
    assert f"conformance repro s::f.py::C::{NAMES[0]} --run b" in table


def test_the_gate_and_the_comparison_count_the_same(command: Command, store: Store, tmp_path: Path) -> None:
    two(store, tmp_path, {NAMES[0]: failed(), NAMES[3]: attempt(Outcome.SKIP_COVERAGE, rule="c:x")})
    found = answer(command("gate", "--candidate", "r2", "--format", "json"))
    beside = json.loads(command("diff", "r1", "r2", "--format", "json").out)
    assert found["classes"] == beside["classes"]
    assert found["counts"]["blocking"] == beside["blocking"]
    assert [each["cause"] for each in found["causes"]] == [each["cause"] for each in beside["causes"]]


def test_an_aborted_candidate_is_inconclusive_and_says_how_to_finish_it(
    command: Command, store: Store, tmp_path: Path
) -> None:
    two(store, tmp_path, {NAMES[0]: None, NAMES[1]: failed()})
    said = command("gate", "--candidate", "r2")
    assert said.code == 3
    assert "run b of the candidate is not sealed: 1 of its tests have not run" in said.out
    assert "conformance run --resume b" in said.out
    assert "so far 1 tests block" in said.err


def test_nothing_comparable_is_inconclusive(command: Command, store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "a", {"x": Outcome.PASS}, release="r1", started=DAY))
    ingest(store, make_run(tmp_path / "b", {"y": Outcome.PASS}, release="r2", started=2 * DAY))
    said = command("gate", "--candidate", "r2", "--format", "json")
    assert said.code == 3
    assert "comparable" in {each["rule"] for each in json.loads(said.out)["findings"]}


def test_a_suite_that_the_candidate_did_not_run_is_inconclusive_unless_it_is_left_out(
    command: Command, store: Store, tmp_path: Path
) -> None:
    two(store, tmp_path, {})
    ingest(store, make_run(tmp_path / "t", {"y": Outcome.PASS}, release="r1", suite="t", started=DAY))
    said = command("gate", "--candidate", "r2", "--format", "json")
    assert said.code == 3
    assert [(each["rule"], each["suite"]) for each in json.loads(said.out)["findings"]] == [("min_comparable", "t")]
    assert command("gate", "--candidate", "r2", "--suite", "s").code == 0


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        (attempt(Outcome.SKIP_UNCLASSIFIED), "max_unclassified"),
        (Outcome.INFRA, "max_infra"),
        (attempt(Outcome.SKIP_ENVIRONMENT, rule="no-scipy"), "max_silenced"),
        (attempt(Outcome.SKIP_ELIGIBILITY, rule="cpu-only"), "max_silenced"),
    ],
)
def test_too_much_that_says_nothing_is_inconclusive_until_the_policy_allows_it(
    command: Command, store: Store, tmp_path: Path, made: Made, rule: str
) -> None:
    two(store, tmp_path, {NAMES[5]: made})
    said = command("gate", "--candidate", "r2", "--format", "json")
    assert said.code == 3
    assert [each["rule"] for each in json.loads(said.out)["findings"]] == [rule]
    path = tmp_path / "gate.toml"
    path.write_text(f"block = []\n{rule} = 1\n")
    assert command("gate", "--candidate", "r2", "--policy", str(path)).code == 0


def test_a_test_that_is_gone_never_passes_silently(command: Command, store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "a", ALL, release="r1", started=DAY))
    ingest(store, make_run(tmp_path / "b", dict.fromkeys(NAMES[1:], Outcome.PASS), release="r2", started=2 * DAY))
    said = command("gate", "--candidate", "r2", "--format", "json")
    assert said.code == 3
    assert answer(said)["classes"]["removed"] == 1


def test_a_database_that_is_down_is_exit_code_4(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://localhost:1/nothing?connect_timeout=2")
    said = command("gate", "--candidate", "r2")
    assert (said.code, said.out) == (4, "")
    assert "(exit 4: store)" in said.err


def test_the_first_release_has_no_baseline_and_is_inconclusive(command: Command, store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "a", ALL, release="r1"))
    said = command("gate", "--candidate", "r1")
    assert said.code == 3
    assert "name what to compare with by --baseline" in said.err


def test_coverage_may_be_lost_up_to_the_policy_s_number_and_no_further(
    command: Command, store: Store, tmp_path: Path
) -> None:
    two(store, tmp_path, {each: attempt(Outcome.SKIP_COVERAGE, rule="c:x") for each in NAMES[:3]})
    path = tmp_path / "gate.toml"
    for number, code in ((2, 1), (3, 0)):
        path.write_text(f"max_lost_coverage = {number}")
        assert command("gate", "--candidate", "r2", "--policy", str(path)).code == code


def test_new_tests_must_be_right_in_the_share_that_the_policy_says(
    command: Command, store: Store, tmp_path: Path
) -> None:
    two(
        store,
        tmp_path,
        {"forward.new.f": failed(), "forward.newer.f": Outcome.PASS, "forward.other.f": Outcome.INVALID},
    )
    assert command("gate", "--candidate", "r2").code == 0
    path = tmp_path / "gate.toml"
    path.write_text("min_new_pass = 0.6")
    said = command("gate", "--candidate", "r2", "--policy", str(path))
    assert said.code == 1
    assert "50.0% (1 of 2) of the new or changed tests are right, 60.0% must be" in said.out


def test_a_partial_selection_is_compared_where_it_overlaps_and_never_called_whole(
    command: Command, store: Store, tmp_path: Path
) -> None:
    ingest(store, make_run(tmp_path / "a", ALL, release="r1", started=DAY))
    some = Selection(suites=("s",), ops=("op0",))
    ingest(store, make_run(tmp_path / "b", {NAMES[0]: Outcome.PASS}, release="r2", selection=some, started=2 * DAY))
    said = command("gate", "--candidate", "r2")
    assert said.code == 3
    assert "5.0% (1 of 20) of the baseline's tests are comparable" in said.out
    assert "none is sealed over a whole profile" in said.err


def test_an_aborted_run_of_one_suite_is_told_and_does_not_stand_in_the_way_of_the_others(
    command: Command, store: Store, tmp_path: Path
) -> None:
    two(store, tmp_path, {})
    ingest(store, make_run(tmp_path / "t", {"y": None}, release="r2", suite="t", started=3 * DAY))
    some = Selection(suites=("u",), ops=("add",))
    ingest(store, make_run(tmp_path / "u", {"z": None}, release="r2", suite="u", selection=some, started=3 * DAY))
    said = command("gate", "--candidate", "r2", "--format", "json")
    assert said.code == 3
    assert [each["sentence"] for each in json.loads(said.out)["findings"]] == [
        "the candidate has no sealed run of suite t"
    ]
    assert command("gate", "--candidate", "r2", "--suite", "s").code == 0
    refused = command("gate", "--candidate", "r2", "--suite", "x")
    assert (refused.code, "no side has a test of suite 'x': choose from s" in refused.err) == (2, True)


def test_a_test_that_was_changed_counts_as_new_and_one_left_out_of_the_selection_as_silenced(
    command: Command, store: Store, tmp_path: Path
) -> None:
    two(store, tmp_path, {NAMES[0]: failed()}, definitions={NAMES[0]: "2"})
    path = tmp_path / "gate.toml"
    path.write_text("min_new_pass = 0.5")
    assert command("gate", "--candidate", "r2").code == 0
    found = answer(command("gate", "--candidate", "r2", "--policy", str(path), "--format", "json"))
    assert (found["exit"], found["classes"]["test_changed"], found["suites"][0]["new"]) == (1, 1, 1)
    some = Selection(suites=("s",), ops=tuple(f"op{number}" for number in range(19)))
    made = dict.fromkeys(NAMES[:19], Outcome.PASS)
    ingest(store, make_run(tmp_path / "c", made, release="r3", selection=some, started=3 * DAY))
    said = command("gate", "--candidate", "c", "--baseline", "a", "--format", "json")
    assert said.code == 3
    assert [(each["rule"], each["suite"]) for each in answer(said)["findings"]] == [("max_silenced", "s")]
