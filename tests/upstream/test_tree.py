"""A source tree is read with its version, its commit, and what differs from it."""

from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.upstream import Torch, Tree, tree
from tests.upstream.trees import FILES, folder, git, repository

TORCH = Torch(version="2.13.0+cpu", commit="c" * 40)


def test_a_plain_folder_has_a_version_and_a_digest_of_its_files(tmp_path: Path) -> None:
    found = tree.read(folder(tmp_path))
    assert (found.version, found.commit, found.changed) == ("2.13.0", "", ())
    (tmp_path / "test" / "test_ops.py").write_text("NUMBER = 2\n")
    assert tree.read(tmp_path).stamp != found.stamp
    assert tree.read(tmp_path).facts(TORCH)["upstream.changed"] == "unknown: no git checkout"


def test_a_checkout_has_a_commit_and_the_version_of_its_tag(tmp_path: Path) -> None:
    commit = repository(tmp_path, {**FILES, "version.txt": "2.12.9a0"})
    found = tree.read(tmp_path)
    assert (found.version, found.tag, found.commit, found.state) == ("2.13.0", "v2.13.0", commit, "none")


def test_changed_removed_and_added_files_are_named_and_compared(tmp_path: Path) -> None:
    repository(tmp_path)
    clean = tree.read(tmp_path)
    (tmp_path / "test" / "test_ops.py").write_text("NUMBER = 5\n")
    (tmp_path / "test" / "functorch" / "test_ops.py").unlink()
    (tmp_path / "test" / "shadow.py").touch()
    (tmp_path / "test" / "report.xml").touch()
    (tmp_path / "torch" / "__init__.py").write_text("# not a test\n")
    found = tree.read(tmp_path)
    assert found.changed == ("test/functorch/test_ops.py", "test/test_ops.py", "test/shadow.py")
    (tmp_path / "test" / "test_ops.py").write_text("NUMBER = 6\n")
    assert len({clean.stamp, found.stamp, tree.read(tmp_path).stamp}) == 3


def test_nothing_that_a_repository_configures_is_run(tmp_path: Path) -> None:
    repository(tmp_path / "tree")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    git(tmp_path / "tree", "config", "core.fsmonitor", str(trap))
    (tmp_path / "tree" / "test" / "test_ops.py").write_text("NUMBER = 5\n")
    assert tree.read(tmp_path / "tree").changed == ("test/test_ops.py",)
    assert not (tmp_path / "sprung").exists()


def test_a_checkout_that_git_cannot_read_is_not_taken_for_a_folder(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / ".git" / "HEAD").write_text("nonsense")
    with pytest.raises(UsageError, match="git cannot read the checkout"):
        tree.read(tmp_path)


@pytest.mark.parametrize("missing", ["version.txt", "test"])
def test_a_folder_without_tests_or_version_is_no_tree(tmp_path: Path, missing: str) -> None:
    folder(tmp_path)
    (tmp_path / missing).rename(tmp_path / "gone")
    with pytest.raises(UsageError, match="is no PyTorch source tree"):
        tree.read(tmp_path)


@pytest.mark.parametrize(
    ("torch", "version", "commit", "fits"),
    [
        (TORCH, "2.13.0", "", True),
        (TORCH, "2.13.1", "", False),
        (TORCH, "2.12.0", "c" * 40, True),
        (TORCH, "2.13.0", "d" * 40, True),
        (Torch(version="2.14.0.dev20261101", commit="c" * 40), "2.14.0", "d" * 40, False),
        (Torch(version="2.14.0.dev20261101", commit="c" * 40), "2.14.0", "c" * 40, True),
        (Torch(version="2.14.0.dev20261101"), "2.14.0", "d" * 40, True),
    ],
)
def test_a_tree_fits_the_torch_of_its_release_and_a_build_before_one_only_by_commit(
    torch: Torch, version: str, commit: str, fits: bool
) -> None:
    found = Tree(root=Path("/src"), version=version, commit=commit)
    assert found.fits(torch) is fits
    assert bool(found.facts(torch)["upstream.mismatch"]) is not fits


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("test_ops.py", "test_ops.py"),
        ("functorch/test_ops.py::TestOperators::test_grad", "functorch/test_ops.py::TestOperators::test_grad"),
        ("functorch/", "functorch"),
        ("functorch/../test_ops.py", "test_ops.py"),
        ("../version.txt", ""),
        ("/etc/passwd", ""),
        ("test_gone.py", ""),
        (".", ""),
    ],
)
def test_a_path_is_named_below_the_tests_or_not_at_all(tmp_path: Path, asked: str, name: str) -> None:
    assert tree.read(folder(tmp_path)).within(asked) == name
    if name:
        assert tree.read(tmp_path).within(f"{tmp_path}/test/{asked}") == name
