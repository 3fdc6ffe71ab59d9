"""diff, ingest and db: exit codes, formats, and that every row that moved is printed."""

import csv
import io
import json
from pathlib import Path

import pytest

from conformance import recorded
from conformance.outcomes import Outcome
from conformance.pairs import PairClass
from conformance.store import Store, connect, ingest
from tests.conftest import Command
from tests.runs import attempt, make_run


@pytest.fixture
def example(command: Command) -> None:
    said = command("ingest", "--example")
    assert said.code == 0
    assert said.out.count("sealed, stored in") == 2


@pytest.mark.usefixtures("example")
def test_a_blocking_class_is_exit_code_1_only_when_it_is_asked_for(command: Command) -> None:
    assert command("diff", "example-1.0", "example-1.1").code == 0
    said = command("diff", "example-1.0", "example-1.1", "--exit-code")
    assert said.code == 1
    assert said.err.splitlines()[-1] == "conformance: 8 tests block a release (exit 1: regression)"
    assert command("diff", "example-1.0", "example-1.0", "--exit-code").code == 0


@pytest.mark.usefixtures("example")
def test_every_format_tells_the_same_counts(command: Command) -> None:
    document = json.loads(command("diff", "example-1.0", "example-1.1", "--format", "json").out)
    lines = [
        json.loads(each)
        for each in command("diff", "example-1.0", "example-1.1", "--format", "ndjson").out.splitlines()
    ]
    cells = list(csv.DictReader(io.StringIO(command("diff", "example-1.0", "example-1.1", "--format", "csv").out)))
    assert sum(document["classes"].values()) == document["tests"] == len(recorded.described()["test"])
    assert sum(each["tests"] for each in document["transitions"]) == document["tests"]
    assert sum(each["tests"] for each in document["groups"]) == document["tests"] - document["classes"]["same"]
    assert all(each["simulated"] is True for each in lines)
    assert all(each["simulated"] == "1" for each in cells)
    for rows in (lines, cells):
        found = [each["class"] for each in rows]
        assert {word: found.count(word) for word in found} == {
            word: number for word, number in document["classes"].items() if word != "same"
        }
    assert document["simulated"] is True
    table = command("diff", "example-1.0", "example-1.1", "--classes", "fixed").out
    assert "backward.tanh.float32" in table


@pytest.mark.usefixtures("example")
def test_classes_choose_the_rows_and_an_unknown_one_is_refused(command: Command) -> None:
    arguments = ("diff", "example-1.0", "example-1.1", "--format", "ndjson", "--classes")
    lines = [json.loads(each) for each in command(*arguments, "same,fixed").out.splitlines()]
    assert {each["class"] for each in lines} == {"same", "fixed"}
    refused = command(*arguments, "broken")
    assert refused.code == 2
    assert all(each.word in refused.err for each in PairClass)


def test_a_side_that_is_not_sealed_is_exit_code_3(command: Command, store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "a", {"x": Outcome.PASS, "y": Outcome.PASS}))
    ingest(store, make_run(tmp_path / "b", {"x": Outcome.FAIL, "y": None}))
    said = command("diff", "a", "b", "--exit-code")
    assert said.code == 3
    assert "run b is not sealed, 1 of its tests have not run" in said.err
    assert "1 tests block so far" in said.err


def test_nothing_comparable_is_exit_code_3_and_never_0(command: Command, store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "a", {"x": Outcome.PASS}))
    ingest(store, make_run(tmp_path / "b", {"y": Outcome.PASS}))
    assert command("diff", "a", "b").code == 3
    assert command("diff", "a", "b", "--exit-code").code == 3


def test_a_group_of_several_fallback_ops_names_them_in_one_line(command: Command, store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "a", {"x": Outcome.PASS}))
    ingest(store, make_run(tmp_path / "b", {"x": attempt(Outcome.FALLBACK, ops=("aten::sort", "aten::gt"))}))
    (group,) = json.loads(command("diff", "a", "b", "--format", "json").out)["groups"]
    assert group["reason"] == "aten::gt, aten::sort"
    assert command("diff", "a", "b").out.count("aten::gt, aten::sort") == 2


def test_simulated_beside_real_is_exit_code_2(command: Command, store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "a", {"x": Outcome.PASS}))
    ingest(store, make_run(tmp_path / "b", {"x": Outcome.PASS}, target="trn2", simulated=False))
    said = command("diff", "a", "b")
    assert (said.code, said.out) == (2, "")
    assert "never compared" in said.err


def test_a_release_s_run_is_named_on_stderr(command: Command, store: Store, tmp_path: Path) -> None:
    for name, release in (("a", "sim-1.0"), ("b", "sim-1.1")):
        ingest(store, make_run(tmp_path / name, {"x": Outcome.PASS}, release=release))
    said = command("diff", "sim-1.0", "sim-1.1")
    assert "sim-1.0 is its latest sealed run over the whole profile 'default', a of" in said.err
    assert "sim-1.1 is its latest sealed run over the whole profile 'default', b of" in said.err


def test_ingest_twice_says_unchanged_and_without_a_folder_it_is_refused(command: Command, tmp_path: Path) -> None:
    folder = str(make_run(tmp_path / "r", {"x": Outcome.PASS}))
    (first,) = [json.loads(each) for each in command("ingest", folder, "--format", "ndjson").out.splitlines()]
    (again,) = [json.loads(each) for each in command("ingest", folder, "--format", "ndjson").out.splitlines()]
    assert (first["unchanged"], again["unchanged"]) == (False, True)
    assert first["outcomes"] == again["outcomes"] == {"pass": 1}
    assert command("ingest").code == 2
    for nothing in (tmp_path, tmp_path / "nothing"):
        said = command("ingest", str(nothing))
        assert said.code == 2
        assert f"{nothing} is not the folder of a run: {nothing / 'run.json'}: No such file or directory" in said.err


def test_a_folder_that_is_no_run_does_not_keep_the_others_out(command: Command, tmp_path: Path) -> None:
    good = [str(make_run(tmp_path / name, {"x": Outcome.PASS})) for name in ("a", "b")]
    said = command("ingest", good[0], str(tmp_path / "nothing"), good[1], "--format", "ndjson")
    assert [json.loads(each)["run"] for each in said.out.splitlines()] == ["a", "b"]
    assert said.code == 2
    assert "nothing is not the folder of a run" in said.err
    assert "1 of 3 folders were not stored: they are named above" in said.err


def test_the_database_s_place_is_printed_without_its_password_and_upgraded(
    command: Command, monkeypatch: pytest.MonkeyPatch, empty_url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", empty_url)
    assert command("runs").code == 4
    assert command("db", "upgrade").out == f"schema {connect.HEAD}, was none\n"
    assert command("db", "upgrade").out == f"schema {connect.HEAD} already\n"
    assert command("runs").code == 0
    assert command("db", "start").code == command("db", "stop").code == 2
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:hunter2@h/x")
    assert command("db", "url").out == "postgresql://me:***@h/x\n"


def test_tests_that_block_for_one_reason_are_one_cause_with_the_list_of_its_tests(
    command: Command, store: Store, tmp_path: Path
) -> None:
    names = [f"forward.op{number}.float32" for number in range(5)]
    wrong = [attempt(Outcome.FAIL, cause=f"AssertionError: {number} of {number + 1} differ") for number in range(3)]
    later = [
        *wrong,
        attempt(Outcome.CRASH, cause="process died of SIGSEGV"),
        attempt(Outcome.SKIP_COVERAGE, rule="c:x"),
    ]
    ingest(store, make_run(tmp_path / "a", dict.fromkeys(names, Outcome.PASS)))
    ingest(store, make_run(tmp_path / "b", dict(zip(names, later, strict=True))))
    document = json.loads(command("diff", "a", "b", "--format", "json").out)
    assert [(each["tests"], each["reason"]) for each in document["causes"]] == [
        (3, "AssertionError: N of N differ"), (1, "c:x"), (1, "process died of SIGSEGV"),
    ]  # fmt: skip
    assert sum(each["tests"] for each in document["causes"]) == document["blocking"] == 5
    assert all(sum(each["classes"].values()) == each["tests"] for each in document["causes"])
    first = document["causes"][0]["cause"]
    table = command("diff", "a", "b").out
    assert "3 causes, 5 tests" in table
    assert first in table
    said = command("diff", "a", "b", "--tests-of", first[:6])
    assert said.out.splitlines() == [f"s::f.py::C::{each}" for each in names[:3]]
    assert (said.code, "3 tests of cause" in said.err) == (0, True)
    refused = command("diff", "a", "b", "--tests-of", "nothing")
    assert (refused.code, refused.out) == (2, "")
    assert all(each["cause"] in refused.err for each in document["causes"])


def test_a_list_of_tests_cannot_take_a_terminal_over(command: Command, store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "a", {"x\x1b[2J": Outcome.PASS}))
    ingest(store, make_run(tmp_path / "b", {"x\x1b[2J": attempt(Outcome.FAIL, cause="c")}))
    (cause,) = json.loads(command("diff", "a", "b", "--format", "json").out)["causes"]
    said = command("diff", "a", "b", "--tests-of", cause["cause"])
    assert "\x1b" not in said.out + said.err
    assert "1 of these names have control characters" in said.err


def test_waivers_are_counted_beside_what_blocks_and_an_expired_one_is_told(
    command: Command, store: Store, tmp_path: Path
) -> None:
    names = ["forward.qr.float32", "forward.lu.float32"]
    ingest(store, make_run(tmp_path / "a", dict.fromkeys(names, Outcome.PASS)))
    ingest(store, make_run(tmp_path / "b", {each: attempt(Outcome.FAIL, cause=each) for each in names}))
    head = 'reason = "r"\nlink = "https://x"\nowner = "kim"\n'
    path = tmp_path / "w.toml"
    path.write_text(
        f'[[waiver]]\nid = "one"\n{head}expires = 2999-01-01\nops = ["qr"]\n'
        f'[[waiver]]\nid = "late"\n{head}expires = 2001-01-01\nops = ["lu"]\n'
    )
    said = command("diff", "a", "b", "--exit-code", "--waivers", str(path))
    assert said.code == 1
    assert "1 block a release (base 2, waived 1)" in said.out
    assert "waiver 'late' is expired, 1 tests" in said.err
    found = json.loads(command("diff", "a", "b", "--waivers", str(path), "--format", "json").out)
    assert [found[each] for each in ("blocking", "waived", "effective")] == [2, 1, 1]
    assert [each["id"] for each in found["waivers"]] == ["one", "late"]
    path.write_text(path.read_text().replace("2001", "2999"))
    assert command("diff", "a", "b", "--exit-code", "--waivers", str(path)).code == 0
    path.write_text("[[waiver]]\nid = 1")
    refused = command("diff", "a", "b", "--waivers", str(path))
    assert (refused.code, f"{path}:2: id is 1" in refused.err) == (2, True)
