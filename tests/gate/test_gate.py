"""`conformance gate`: the verdicts and exit codes, what it names, and that its numbers are those of the comparison."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conformance.gate import documents, waivers
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


def test_a_bad_policy_or_waiver_is_refused_with_its_line(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_text("max_infra = 0.1\n\nblok = []\n")
    said = command("gate", "--candidate", "r2", "--policy", str(path))
    assert (said.code, said.out) == (2, "")
    assert f"{path}:3: unknown key 'blok'" in said.err
    path.write_text("waivers = ['none.toml']")
    assert command("gate", "--candidate", "r2", "--policy", str(path)).code == 2
    assert command("gate", "--candidate", "nothing").code == 2
    assert command("gate", "--candidate", "a", "--baseline", "b", "--best-of", "3").code == 2


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


def test_the_best_of_three_releases_does_not_let_a_shipped_regression_stand(
    command: Command, store: Store, tmp_path: Path
) -> None:
    for number, broken in enumerate([[], NAMES[:1], NAMES[:2], NAMES[:2]], 1):
        made = {**ALL, **dict.fromkeys(broken, failed())}
        ingest(store, make_run(tmp_path / f"run{number}", made, release=f"r{number}", started=number * DAY))
    assert command("gate", "--candidate", "r4").code == 0
    said = command("gate", "--candidate", "r4", "--best-of", "3", "--format", "json")
    assert said.code == 1
    assert answer(said)["counts"]["effective"] == 2
    assert [each["name"] for each in json.loads(said.out)["baselines"]] == ["r3", "r2", "r1"]
    found = answer(command("gate", "--candidate", "r4", "--best-of", "2", "--format", "json"))
    assert [each["example"].rpartition("::")[2] for each in found["causes"]] == [NAMES[1]]


def test_a_steady_failure_after_a_flaky_baseline_blocks(command: Command, store: Store, tmp_path: Path) -> None:
    flaky: Made = [failed("x"), attempt(Outcome.PASS)]
    ingest(store, make_run(tmp_path / "a", {**ALL, NAMES[0]: flaky}, release="r1", started=DAY))
    ingest(store, make_run(tmp_path / "b", {**ALL, NAMES[0]: failed("x")}, release="r2", started=2 * DAY))
    ingest(store, make_run(tmp_path / "c", {**ALL, NAMES[0]: flaky}, release="r3", started=3 * DAY))
    found = answer(command("gate", "--candidate", "r2", "--format", "json"))
    assert (found["exit"], found["classes"]) == (1, {"same": 20})
    assert found["causes"][0]["reason"] == "x"
    assert command("gate", "--candidate", "r3", "--baseline", "r1").code == 0
    assert "same after a flaky baseline 1" in command("gate", "--candidate", "r2").out


def test_a_flaky_candidate_blocks_by_its_worst_attempt_unless_the_policy_only_reports_it(
    command: Command, store: Store, tmp_path: Path
) -> None:
    two(store, tmp_path, {NAMES[0]: [failed(), attempt(Outcome.PASS)], NAMES[1]: [failed(), attempt(Outcome.ERROR)]})
    assert answer(command("gate", "--candidate", "r2", "--format", "json"))["counts"]["effective"] == 2
    path = tmp_path / "gate.toml"
    path.write_text('flaky = "report"')
    found = answer(command("gate", "--candidate", "r2", "--policy", str(path), "--format", "json"))
    assert (found["counts"]["effective"], found["counts"]["flaky"], found["exit"]) == (1, 1, 1)


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
    assert "50.0% (1 of 2) of the new tests are right, 60.0% must be" in said.out


def test_waived_tests_are_counted_beside_the_base_and_an_expired_waiver_does_not_waive(
    command: Command, store: Store, tmp_path: Path
) -> None:
    two(store, tmp_path, {NAMES[0]: failed(), NAMES[1]: failed("other")})
    head = 'reason = "known"\nlink = "https://example.org/1"\nowner = "kim"\n'
    path = tmp_path / "w.toml"
    entries = (("one", 2999, '["op0"]'), ("late", 2001, '["op1"]'), ("idle", 2999, '["op9"]'))
    path.write_text("".join(f'[[waiver]]\nid = "{name}"\n{head}expires = {year}-01-01\nops = {ops}\n'
                            for name, year, ops in entries))  # fmt: skip
    said = command("gate", "--candidate", "r2", "--waivers", str(path), "--format", "json")
    found = answer(said)
    assert [found["counts"][each] for each in ("blocking", "waived", "effective")] == [2, 1, 1]
    assert found["causes"][0]["reason"] == "other"
    assert {each["id"]: (each["expired"], each["tests"]) for each in found["waivers"]} == {
        "one": (False, 1), "late": (True, 1), "idle": (False, 0),
    }  # fmt: skip
    assert any("'late' of kim expired on 2001-01-01 and would waive 1 tests" in each for each in found["next"])
    assert any("'idle' waives nothing" in each for each in found["next"])
    assert "1 tests block by 1 cause (base 2, waived 1)" in said.err
    path.write_text(path.read_text().replace("2001", "2999"))
    assert command("gate", "--candidate", "r2", "--waivers", str(path)).code == 0


def test_the_waiver_that_it_proposes_waives_what_it_is_for_once_somebody_signs_it(
    command: Command, store: Store, tmp_path: Path
) -> None:
    two(store, tmp_path, {NAMES[0]: failed('say "no"\\'), NAMES[1]: failed("other")})
    found = answer(command("gate", "--candidate", "r2", "--format", "json"))
    text = "\n".join(each["waiver"] for each in found["causes"])
    assert len(tomllib.loads(text)["waiver"]) == 2
    with pytest.raises(Exception, match=r"w:3: reason is ''"):
        waivers.parse(documents.parse("w", text))
    path = tmp_path / "w.toml"
    path.write_text(re.sub(r'(reason|link|owner) = ""', r'\1 = "https://x"', text))
    assert command("gate", "--candidate", "r2", "--waivers", str(path)).code == 0


def test_hostile_names_and_causes_stay_text(command: Command, store: Store, tmp_path: Path) -> None:
    name = "x\x1b]0;owned\x07$(reboot)'\u202e"
    hostile: dict[str, Made] = {name: Outcome.PASS}
    ingest(store, make_run(tmp_path / "a", hostile, release="r1", started=DAY))
    ingest(store, make_run(tmp_path / "b", {name: failed(name)}, release="r2", started=2 * DAY))
    for arguments in ((), ("--format", "json")):
        said = command("gate", "--candidate", "r2", *arguments)
        assert said.code == 1
        assert not any(each in said.out + said.err for each in "\x1b\x07\u202e")


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


def test_the_summary_of_a_job_says_what_the_json_says_and_holds_no_markup_of_strangers(
    command: Command, store: Store, tmp_path: Path
) -> None:
    hostile = "<img src=x> [a](http://x) @all ``` | ::error::x"
    changes: dict[str, Made] = {each: failed(f"{number} {each} {hostile}") for number, each in enumerate(NAMES)}
    two(store, tmp_path, changes)
    said = command("gate", "--candidate", "r2", "--format", "markdown")
    found = answer(command("gate", "--candidate", "r2", "--format", "json"))
    assert said.code == found["exit"] == 1
    assert f"### {len(found['causes'])} causes, {found['counts']['effective']} tests" in said.out
    assert all(f"| {each['cause']} | {each['tests']} |" in said.out for each in found["causes"])
    assert not any(each in said.out for each in ("<img", "](http", "@all", "```", "::error"))
    assert "**Simulation:**" in said.out
    assert found["sentence"] in said.err
