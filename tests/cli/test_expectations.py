"""`conformance expectations`: exit codes, what is printed, and that nothing is written unasked."""

import json
import tomllib
from pathlib import Path

import pytest

from conformance.outcomes import Outcome
from conformance.plan import Decision
from tests.conftest import Command
from tests.runs import make_run

SKIPPED = Decision(outcome=Outcome.SKIP_COVERAGE, rule="coverage:mine")


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(text)
    return path


def entry(name: str, line: str) -> str:
    return f'[[skip]]\nid = "{name}"\nreason = "y"\n{line}\n'


def test_a_file_in_order_is_exit_0_and_findings_are_a_line_each_and_exit_1(command: Command, tmp_path: Path) -> None:
    path = own(tmp_path, entry("x", 'ops = ["add"]'))
    said = command("expectations", "lint", str(path))
    assert (said.code, said.out) == (0, "")
    assert "1 entry, nothing is wrong" in said.err
    path.write_text(path.read_text() + entry("x", "ops = 3"))
    said = command("expectations", "lint", str(path))
    assert said.code == 1
    assert said.out.startswith(f"{path}:6: malformed: entry 'x' Expected `array`")


def test_a_plan_is_taken_from_a_run(command: Command, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", {"forward.add.float32": Outcome.PASS})
    path = own(tmp_path, entry("x", 'ops = ["add", "gone"]'))
    said = command("expectations", "lint", str(path), "--plan-of", str(run), "--format", "json")
    assert said.code == 1
    (found,) = json.loads(said.out)["findings"]
    assert found == {
        "file": str(path), "line": 2, "entry": "x", "kind": "dead",
        "text": "has 'gone' in ops, with which no planned test matches",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("lint",), "no file is given"),
        (("lint", "gone.toml"), "there is no expectation file 'gone.toml'"),
        (("lint", "--target", "moon"), "unknown target 'moon'"),
        (("update", "--from", "gone"), "there is no run 'gone'"),
        (("import", "csv", "x"), "'csv' is not one of 'disabled-tests', 'list', 'skip-dict'"),
        (("import", "list", "gone.txt"), "there is no expectation file 'gone.txt'"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_exit_2(
    command: Command, arguments: tuple[str, ...], part: str
) -> None:
    said = command("expectations", *arguments)
    assert said.code == 2
    assert part in said.err.splitlines()[-1]


def test_update_shows_the_edit_and_writes_only_when_told(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = own(tmp_path, entry("mine", 'ops = ["add", "sub"]'))
    before = path.read_text()
    run = make_run(
        tmp_path / "run", {"forward.add.float32": Outcome.PASS, "forward.sub.float32": Outcome.FAIL},
        probed=dict.fromkeys(("forward.add.float32", "forward.sub.float32"), SKIPPED),
        environment={"expectations.files": str(path)},
    )  # fmt: skip
    said = command("expectations", "update", "--from", str(run))
    assert said.code == 0
    assert '-ops = ["add", "sub"]\n+ops = ["sub"]\n' in said.out
    assert path.read_text() == before
    said = command("expectations", "update", "--from", str(run), "--write")
    assert said.code == 0
    assert tomllib.loads(path.read_text())["skip"][0]["ops"] == ["sub"]
    said = command("expectations", "update", "--from", str(run))
    assert "nothing to edit" in said.err


def test_new_failures_go_into_a_file_that_need_not_be_there_yet(command: Command, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", {"forward.add.float32": Outcome.FAIL}, target="cpu")
    said = command("expectations", "update", "--from", str(run))
    assert (said.code, "name one with --into FILE" in said.err) == (2, True)
    new = tmp_path / "new.toml"
    assert command("expectations", "update", "--from", str(run), "--into", str(new), "--write").code == 0
    (found,) = tomllib.loads(new.read_text())["expect"]
    assert (found["reason"], found["owner"], found["outcome"]) == ("", "", "fail")
    assert found["tests"] == ["s::f.py::C::forward.add.float32"]
    said = command("expectations", "update", "--from", str(run), "--into", str(new))
    assert "nothing to edit" in said.err


def test_a_list_becomes_entries_and_what_is_unresolved_is_told(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("test_a (test_ops.TestC)  # broken\ntest_\x1b[31m (__main__.TestC)\n")
    said = command("expectations", "import", "list", str(path), "--owner", "me")
    assert said.code == 0
    (found,) = tomllib.loads(said.out)["skip"]
    assert (found["tests"], found["reason"], found["owner"]) == (["upstream::test_ops::TestC::test_a"], "broken", "me")
    assert "# unresolved: test_\\u001b[31m (__main__.TestC): its name does not tell file and class" in said.out
    assert "1 of 2 entries resolved to 1 test, not checked against a plan; 1 unresolved" in said.err


def test_parts_of_names_are_refused_without_a_plan_and_nothing_resolved_is_no_success(
    command: Command, tmp_path: Path
) -> None:
    path = tmp_path / "skips.py"
    path.write_text('skip_dict = {"test_ops_xpu.py": ("a", "b"), "x.py": None}')
    said = command("expectations", "import", "skip-dict", str(path))
    assert (said.code, "2 parts of names can only be expanded by a plan" in said.err) == (2, True)
    run = make_run(tmp_path / "run", {"forward.add.float32": Outcome.PASS})
    said = command("expectations", "import", "skip-dict", str(path), "--plan-of", str(run), "--target", "cpu")
    assert (said.code, "is of target 'sim', not of 'cpu'" in said.err) == (2, True)
    said = command("expectations", "import", "skip-dict", str(path), "--plan-of", str(run))
    assert said.code == 3
    assert "# unresolved: test_ops_xpu.py: a: no test of test_ops_xpu.py is planned" in said.out


@pytest.mark.slow
def test_the_shipped_files_match_the_whole_plan_of_suite_ops(command: Command) -> None:
    said = command("expectations", "lint", "--target", "sim")
    assert (said.code, said.out) == (0, "")
    assert "nothing is wrong" in said.err
