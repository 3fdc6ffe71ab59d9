"""What the gate lets off and what it does not: flaky tests, shipped regressions, waivers; and strangers' text in it."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from conformance.gate import documents, waivers
from conformance.outcomes import Outcome
from conformance.store import Store, ingest
from tests.conftest import Command
from tests.gate.test_gate import ALL, DAY, NAMES, answer, failed, two
from tests.runs import Made, attempt, make_run


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
