"""`conformance upstream`, and what `conformance run` makes of a tree, in this process and without a database."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance import cli, suites
from conformance.cli.run import run
from conformance.cli.trees import TreeWish, of_run
from conformance.cli.wishes import Wishes
from conformance.errors import UsageError
from conformance.plan import Selection
from conformance.settings import Settings
from conformance.upstream import choice, installed, tree
from tests.conftest import Said
from tests.upstream.trees import FILES, folder, git, repository

Command = Callable[..., Said]
_MADE = "class TestOne(TestCase):\n    pass\n\ninstantiate_device_type_tests(TestOne, globals())\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (choice.ROOT, choice.ALLOW):
        monkeypatch.delenv(name, raising=False)
    for name in ("CONFORMANCE_HOME", "CONFORMANCE_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def call(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    def command(*arguments: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["conformance", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capfd.readouterr()
        return Said(code=int(ended.value.code or 0), out=said.out, err=said.err)

    return command


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A tree of the installed torch's version."""
    new = {"version.txt": installed().number, "test/test_ops.py": _MADE, "test/test_new.py": "", "test/test_mps.py": ""}
    return folder(tmp_path / "tree", {**FILES, **new})


def test_a_tree_is_fetched_shown_and_found(call: Command, tmp_path: Path) -> None:
    assert call("upstream", "path").code == 2
    assert call("upstream", "status").err.endswith("`conformance upstream fetch` gets them (exit 0: fine)\n")
    commit = repository(tmp_path / "remote", {**FILES, "version.txt": installed().number}, tag=installed().tag)
    git(tmp_path / "remote", "config", "uploadpack.allowAnySHA1InWant", "true")
    fetched = call("upstream", "fetch", "--remote", f"file://{tmp_path}/remote", "--commit", commit)
    assert fetched.code == 0, fetched.err
    assert "fetched" in fetched.err
    assert call("upstream", "path").out == fetched.out
    assert call("upstream", "path", "--tag", installed().tag).out == fetched.out
    told = json.loads(call("upstream", "status", "--format", "json").out)
    assert (told["fits"], told["tree"]["upstream.commit"]) == (True, commit)
    assert ": there already, and as it was fetched" in call("upstream", "fetch", "--commit", commit).err


def test_a_fetch_without_a_network_is_one_sentence_and_the_code_of_the_network(call: Command) -> None:
    said = call("upstream", "fetch", "--remote", "file:///nowhere/at/all")
    assert said.code == 4
    assert "run with --upstream PATH (exit 4: store)" in said.err
    assert "Traceback" not in said.err


def test_files_are_listed_with_their_state_and_one_with_its_classes(call: Command, ours: Path) -> None:
    said = call("upstream", "files", "--upstream", str(ours), "--format", "json")
    listed = {each["file"]: (each["state"], each["reason"]) for each in json.loads(said.out)["files"]}
    assert listed["test_ops.py"] == ("run", "")
    assert listed["test_new.py"] == ("unlisted", "")
    assert listed["test_mps.py"][0] == "left-out"
    assert listed["test_nn.py"] == ("missing", "")
    unlisted = call("upstream", "files", "--upstream", str(ours), "--state", "unlisted", "--format", "ndjson")
    assert [json.loads(line)["file"] for line in unlisted.out.splitlines()] == ["test_new.py"]
    one = call("upstream", "files", "test_ops.py", "--upstream", str(ours))
    assert one.out.splitlines()[1].split() == ["TestOne", "run", "every", "device"]
    assert call("upstream", "files", "test_gone.py", "--upstream", str(ours)).code == 2


def test_the_profiles_files_are_selected_and_named_without_the_machine(ours: Path, home: Path) -> None:
    chosen, used = TreeWish(cache=home, path=str(ours)).apply(Selection(suites=("upstream",)))
    assert used is not None
    assert chosen.whole
    assert chosen.files == ("test_ops.py::TestOne", "functorch/test_ops.py")
    assert used.facts()["upstream.files"].startswith("4 test files: 2 run, 1 left out with a reason, 1 unlisted")
    named, _ = TreeWish(cache=home, path=str(ours)).apply(
        Selection(suites=("upstream",), tests=(f"{ours}/test/functorch", "./mine.py"))
    )
    assert (named.tests, named.files) == (("functorch", "./mine.py"), ("functorch",))


def test_tests_that_are_in_no_tree_need_none(home: Path) -> None:
    asked = Selection(suites=("upstream",), tests=("mine.py",))
    assert TreeWish(cache=home).apply(asked) == (asked, None)
    with pytest.raises(UsageError, match="`conformance upstream fetch`"):
        TreeWish(cache=home).apply(Selection(suites=("upstream",)))
    with pytest.raises(UsageError, match="--upstream names a tree for suite upstream, which is not selected"):
        TreeWish(cache=home, path="/src").apply(Selection(suites=("ops",)))


def test_another_version_is_refused_or_recorded(ours: Path, home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (ours / "version.txt").write_text("2.4.0")
    with pytest.raises(UsageError, match="or give --allow-upstream-mismatch"):
        TreeWish(cache=home, path=str(ours)).apply(Selection(suites=("upstream",)))
    _, used = TreeWish(cache=home, path=str(ours), allowed=True).apply(Selection(suites=("upstream",)))
    assert used is not None
    assert used.facts()["upstream.mismatch"] == f"tests of 2.4.0 on torch {installed().version}"
    assert "this is recorded" in capfd.readouterr().err


def wishes(*arguments: str) -> Wishes:
    return Wishes.of(run.make_context("run", ["--target", "sim", "--dry-run", *arguments]).params)


def test_all_suites_are_those_that_can_be_run(ours: Path, home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    known = Settings(home=home, cache=home, database_url="")
    without = wishes("--suite", "all").request(known).selection
    assert without.suites == tuple(each for each in suites.names() if each != "upstream")
    assert "suite upstream is left out" in capfd.readouterr().err
    with_tree = wishes("--suite", "all", "--upstream", str(ours)).request(known)
    assert with_tree.selection.suites == suites.names()
    assert with_tree.upstream is not None


def test_a_tree_alone_means_suite_upstream_and_an_empty_one_is_refused(ours: Path, home: Path) -> None:
    known = Settings(home=home, cache=home, database_url="")
    assert wishes("--upstream", str(ours)).request(known).selection.suites == ("upstream",)
    with pytest.raises(UsageError, match="--upstream is given without a value"):
        wishes("--upstream", "")


def test_an_earlier_runs_tree_is_looked_for_where_it_was(ours: Path, home: Path, tmp_path: Path) -> None:
    found = tree.read(ours)
    facts = found.facts(installed())
    assert of_run(home, {}, None) is None
    again = of_run(home, facts, None)
    assert again is not None
    assert again.tree == found
    ours.rename(tmp_path / "moved")
    with pytest.raises(UsageError, match="is no PyTorch source tree"):
        of_run(home, facts, None)
    moved = of_run(home, facts, str(tmp_path / "moved"))
    assert moved is not None
    assert choice.prints(moved) == choice.prints(again)
