"""Which tree is taken, and what a path on the command line means."""

from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.upstream import Torch, checkout, choice, tree
from tests.upstream.trees import folder, repository

TORCH = Torch(version="2.13.0+cpu")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(choice.ROOT, raising=False)
    monkeypatch.delenv(choice.ALLOW, raising=False)


def test_the_option_comes_before_the_variable_and_both_before_what_was_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(tmp_path / "remote")
    one, two = folder(tmp_path / "one"), folder(tmp_path / "two")
    assert choice.find(tmp_path, TORCH) is None
    with pytest.raises(UsageError, match=r"`conformance upstream fetch`, or name .* --upstream PATH"):
        choice.require(tmp_path, TORCH)
    got, _ = checkout.fetch(tmp_path, f"file://{tmp_path}/remote", checkout.Wanted.of(TORCH, None, None))
    assert choice.require(tmp_path, TORCH) == got
    monkeypatch.setenv(choice.ROOT, str(one))
    assert choice.require(tmp_path, TORCH).root == one
    assert choice.require(tmp_path, TORCH, str(two)).root == two


def test_a_version_that_is_not_torchs_is_refused_unless_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tree.read(folder(tmp_path, {"version.txt": "2.4.0", "test/test_ops.py": ""}))
    with pytest.raises(UsageError, match=r"the tests of PyTorch 2\.4\.0, but torch 2\.13\.0\+cpu is installed"):
        choice.require_fit(found, TORCH, allowed=False)
    choice.require_fit(found, TORCH, allowed=True)
    monkeypatch.setenv(choice.ALLOW, "1")
    choice.require_fit(found, TORCH, allowed=False)


def test_a_name_is_the_trees_unless_it_is_written_as_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = tree.read(folder(tmp_path / "tree"))
    here = folder(tmp_path / "here", {"test_ops.py": "", "test_mine.py": ""})
    monkeypatch.chdir(here)
    asked = ("test_ops.py", "./test_ops.py", "test_mine.py", f"{found.tests}/functorch/test_ops.py::TestX")
    assert [choice.inside(found, each) for each in asked] == [
        "test_ops.py", "./test_ops.py", "test_mine.py", "functorch/test_ops.py::TestX",
    ]  # fmt: skip
    monkeypatch.chdir(found.tests / "functorch")
    assert choice.inside(found, "test_ops.py") == "functorch/test_ops.py"


def test_a_process_of_a_run_finds_a_selected_file_below_its_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder(tmp_path / "tree")
    monkeypatch.chdir(folder(tmp_path / "here", {"test_ops.py": ""}))
    assert choice.located("test_ops.py") == "test_ops.py"
    monkeypatch.setenv(choice.ROOT, str(root))
    assert choice.located("test_ops.py::TestX") == f"{root}/test/test_ops.py::TestX"
    assert choice.located("./test_ops.py") == "test_ops.py"
    assert choice.located("test_gone.py") == "test_gone.py"
