"""Fetching is pinned, whole or absent, and says what to do when it cannot."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.errors import StoreError, UsageError
from conformance.supervision.leases import lock_file
from conformance.upstream import Torch, checkout
from conformance.upstream.checkout import Wanted
from tests.upstream.trees import git, repository

_KILLED = """
import os, signal, sys
from pathlib import Path
from conformance.upstream import Torch, checkout
wanted = checkout.Wanted.of(Torch(version="2.13.0"), None, None)
checkout.fetch(Path(sys.argv[1]), sys.argv[2], wanted, lambda said: os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Torch]:
    """A remote with the tag v2.13.0, and a torch that was built from its commit."""
    root = tmp_path_factory.mktemp("remote")
    return f"file://{root}", Torch(version="2.13.0+cpu", commit=repository(root))


def test_the_tag_of_torch_is_fetched_at_the_commit_it_was_built_from(source: tuple[str, Torch], tmp_path: Path) -> None:
    remote, torch = source
    found, new = checkout.fetch(tmp_path, remote, Wanted.of(torch, None, None))
    assert new
    assert (found.version, found.tag, found.commit, found.changed) == ("2.13.0", "v2.13.0", torch.commit, ())
    assert (found.tests / "functorch" / "test_ops.py").read_text() == "NUMBER = 2\n"
    assert (found.root / "tools" / "testing" / "discover.py").exists()
    assert not (found.root / "torch").exists()
    pin = json.loads((found.root.parent / "tree.json").read_text())
    assert (pin["tag"], pin["commit"], pin["remote"]) == ("v2.13.0", torch.commit, remote)
    assert checkout.fetch(tmp_path, "file:///nowhere", Wanted.of(torch, None, None)) == (found, False)
    assert checkout.fetched(tmp_path, checkout.name_for(torch)) == found


def test_another_commit_at_the_tag_is_refused_and_leaves_nothing(source: tuple[str, Torch], tmp_path: Path) -> None:
    remote, torch = source
    other = Torch(version="2.13.0", commit="a" * 40)
    with pytest.raises(UsageError, match=f"is commit {torch.commit}, but torch 2.13.0 says a+: give --commit"):
        checkout.fetch(tmp_path, remote, Wanted.of(other, None, None))
    assert [each.name for each in checkout.place(tmp_path).iterdir()] == ["lock"]
    found, _ = checkout.fetch(tmp_path, remote, Wanted.of(other, None, torch.commit))
    assert checkout.fetched(tmp_path, "v2.13.0") == found


@pytest.mark.parametrize("change", ["edit", "commit", "pin"])
def test_a_checkout_that_is_no_longer_what_was_fetched_is_refused_until_it_is_fetched_again(
    source: tuple[str, Torch], tmp_path: Path, change: str
) -> None:
    remote, torch = source
    found, _ = checkout.fetch(tmp_path, remote, Wanted.of(torch, None, None))
    if change == "pin":
        (found.root.parent / "tree.json").write_text("{}")
    else:
        (found.tests / "test_ops.py").write_text("NUMBER = 7\n")
    if change == "commit":
        git(found.root, "commit", "-qam", "edited")
    with pytest.raises(UsageError, match=r"`conformance upstream fetch --tag v2\.13\.0 --force`"):
        checkout.fetched(tmp_path, "v2.13.0")
    again, new = checkout.fetch(tmp_path, remote, Wanted.of(torch, None, None), force=True)
    assert (again, new) == (found, True)
    assert (found.tests / "test_ops.py").read_text() == "NUMBER = 1\n"


def test_a_fetch_that_is_killed_leaves_no_tree_and_the_next_one_cleans_up(
    source: tuple[str, Torch], tmp_path: Path
) -> None:
    remote, torch = source
    done = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path), remote], check=False)
    assert done.returncode == -signal.SIGKILL
    left = [each.name for each in checkout.place(tmp_path).iterdir()]
    assert any(name.startswith(".partial-") for name in left)
    assert checkout.fetched(tmp_path, "v2.13.0") is None
    checkout.fetch(tmp_path, remote, Wanted.of(torch, None, None))
    assert sorted(each.name for each in checkout.place(tmp_path).iterdir()) == ["lock", "v2.13.0"]


def test_two_do_not_fetch_at_once(source: tuple[str, Torch], tmp_path: Path) -> None:
    remote, torch = source
    checkout.place(tmp_path).mkdir()
    lock = lock_file(checkout.place(tmp_path) / "lock")
    assert lock is not None
    with pytest.raises(UsageError, match="another process is fetching"):
        checkout.fetch(tmp_path, remote, Wanted.of(torch, None, None))
    os.close(lock)


def test_a_commit_is_fetched_by_itself_for_a_build_that_has_no_tag(source: tuple[str, Torch], tmp_path: Path) -> None:
    remote, torch = source
    nightly = Torch(version="2.13.0.dev20261101", commit=torch.commit)
    found, _ = checkout.fetch(tmp_path, remote, Wanted.of(nightly, None, None))
    assert found.root.parent.name == torch.commit
    assert found.fits(nightly)


def test_what_the_remote_does_not_have_and_a_remote_that_is_not_there_are_one_sentence_each(
    source: tuple[str, Torch], tmp_path: Path
) -> None:
    remote, torch = source
    with pytest.raises(UsageError, match=r"has no tag v9\.0\.0 "):
        checkout.fetch(tmp_path, remote, Wanted.of(torch, "v9.0.0", None))
    with pytest.raises(
        StoreError, match=r"could not be fetched from .*: name a mirror .* run with --upstream PATH"
    ) as no:
        checkout.fetch(tmp_path, "https://me:hunter2@localhost:1/pytorch", Wanted.of(torch, None, None))
    assert "hunter2" not in str(no.value)
    assert "\n" not in str(no.value)


@pytest.mark.parametrize(
    ("tag", "commit", "what"),
    [("-x", None, "--tag '-x'"), ("../v1", None, "--tag"), (None, "abc", "all of its 40"), (None, "A" * 40, "40")],
)
def test_what_can_be_no_tag_or_commit_is_refused(tag: str | None, commit: str | None, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        Wanted.of(Torch(version="2.13.0"), tag, commit)


def test_a_password_in_an_address_is_not_kept(tmp_path: Path) -> None:
    assert checkout.public("https://me:hunter2@host:8443/x?y=1") == "https://host:8443/x?y=1"
    assert checkout.public("https://token@host/x") == "https://host/x"
    assert checkout.public("git@github.com:pytorch/pytorch.git") == "git@github.com:pytorch/pytorch.git"
    assert checkout.public("ssh://git@host/x") == "ssh://git@host/x"
