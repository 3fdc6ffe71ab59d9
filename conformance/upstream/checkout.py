"""Fetching PyTorch's test files: a shallow, sparse checkout below the cache, pinned to a commit, whole or absent."""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from conformance.errors import StoreError, UsageError
from conformance.supervision.leases import lock_file
from conformance.upstream import git, tree
from conformance.upstream.installed import Torch
from conformance.upstream.tree import Tree

REMOTE: Final = "https://github.com/pytorch/pytorch"
_TAG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_PARTIAL: Final = ".partial-"
_OLD: Final = ".old-"


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """What was fetched, kept beside the checkout and compared with it at each use. `fetched` is seconds since 1970."""

    tag: str
    commit: str
    remote: str
    fetched: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What to fetch: a tag, a commit, or a tag that must be that commit. `told` says who named the commit.

    `name` is that of its folder: the release's tag wherever there is one, so that a run finds it.
    """

    name: str
    tag: str
    commit: str
    told: str = "--commit"

    @classmethod
    def of(cls, torch: Torch, tag: str | None, commit: str | None) -> "Wanted":
        """What is asked for; without a word the release of the installed torch, at the commit it was built from.

        Raises UsageError for what can be no tag or commit, and when neither is named or known.
        """
        if tag is not None and not _TAG.fullmatch(tag):
            raise UsageError(f"--tag {tag[:100]!r} can be no tag of PyTorch's: one looks like v2.13.0")
        if commit is not None and not _COMMIT.fullmatch(commit):
            raise UsageError(f"--commit {commit[:100]!r} is no commit: write all of its 40 hexadecimal digits")
        if commit is not None or (tag is not None and tag != torch.tag):
            return cls(name=tag or name_for(torch) or commit or "", tag=tag or "", commit=commit or "")
        if not name_for(torch):
            raise UsageError(f"torch {torch.version} tells neither tag nor commit: name one with --tag or --commit")
        return cls(name=name_for(torch), tag=torch.tag, commit=torch.commit, told=f"torch {torch.version}")

    @property
    def source(self) -> str:
        """What to ask the remote for."""
        return f"+refs/tags/{self.tag}:refs/tags/{self.tag}" if self.tag else self.commit


def name_for(torch: Torch) -> str:
    """The name under which the tests of a torch are kept."""
    return torch.tag or torch.commit


def place(cache: Path) -> Path:
    """The folder of the fetched trees."""
    return cache / "upstream"


def fetched(cache: Path, name: str) -> Tree | None:
    """A fetched tree; None when it was not fetched.

    Raises UsageError when it is no longer what was fetched: nothing may be said about a release with other tests.
    """
    folder = place(cache) / name
    try:
        pin = msgspec.json.decode((folder / "tree.json").read_bytes(), type=Pin)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{folder} is damaged ({error}): {_again(name)}") from error
    found = tree.read(folder / "tree")
    if found.commit != pin.commit:
        raise UsageError(f"{found.root} is at commit {found.commit}, but {pin.commit} was fetched: {_again(name)}")
    if found.changed:
        raise UsageError(f"{found.root} has files that differ from what was fetched ({found.state}): {_again(name)}")
    return found


def _again(name: str) -> str:
    option = "--commit" if _COMMIT.fullmatch(name) else "--tag"
    return f"fetch it again with `conformance upstream fetch {option} {name} --force`"


def fetch(
    cache: Path, remote: str, wanted: Wanted, show: Callable[[bytes], None] | None = None, *, force: bool = False
) -> tuple[Tree, bool]:
    """The wanted tree, and whether it was fetched now; one that is there and whole is not fetched again.

    Raises UsageError when the remote has no such thing or another process is fetching, StoreError without a network.
    """
    folder = place(cache)
    _prepare(folder)
    lock = lock_file(folder / "lock")
    if lock is None:
        raise UsageError("another process is fetching PyTorch's test files: wait for it")
    try:
        _sweep(folder)
        there = None if force else fetched(cache, wanted.name)
        if there is not None and wanted.commit in ("", there.commit):
            return there, False
        _fetch_into(folder, remote, wanted, show)
    finally:
        os.close(lock)
    done = fetched(cache, wanted.name)
    assert done is not None
    return done, True


def _prepare(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written ({error.strerror}): set CONFORMANCE_CACHE") from error


def _sweep(folder: Path) -> None:
    """Remove what a fetch that was killed left; the lock is held, so that none is under way."""
    for path in folder.iterdir():
        if path.name.startswith((_PARTIAL, _OLD)):
            shutil.rmtree(path, ignore_errors=True)


def _fetch_into(folder: Path, remote: str, wanted: Wanted, show: Callable[[bytes], None] | None) -> None:
    partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=folder))
    try:
        commit = _download(partial / "tree", remote, wanted, show)
        pin = Pin(tag=wanted.tag, commit=commit, remote=public(remote), fetched=time.time())
        (partial / "tree.json").write_bytes(msgspec.json.format(msgspec.json.encode(pin)) + b"\n")
        _swap(partial, folder / wanted.name)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _download(root: Path, remote: str, wanted: Wanted, show: Callable[[bytes], None] | None) -> str:
    root.mkdir()
    git.run(root, "init", "--quiet")
    git.run(root, "remote", "add", "--", "origin", remote)
    try:
        git.run(root, "sparse-checkout", "set", "--cone", *tree.FOLDERS)
        quiet = ("--progress",) if show else ("--quiet",)
        git.run(
            root, "fetch", *quiet, "--depth=1", "--no-tags", "--filter=blob:none", "origin", wanted.source, show=show
        )
        commit = git.run(root, "rev-parse", "--verify", "FETCH_HEAD^{commit}").strip()
        _require(commit, remote, wanted)
        git.run(root, "checkout", *quiet, "--detach", commit, show=show)
    except git.GitError as error:
        raise _refusal(str(error).replace(remote, public(remote)), remote, wanted) from error
    # A password in the address is not kept; nothing is asked of the remote any more.
    git.run(root, "remote", "set-url", "origin", public(remote))
    tree.read(root)
    return commit


def _require(commit: str, remote: str, wanted: Wanted) -> None:
    if wanted.commit and commit != wanted.commit:
        raise UsageError(
            f"{wanted.tag} at {public(remote)} is commit {commit}, but {wanted.told} says {wanted.commit}: give "
            f"--commit {commit} if these are the files wanted"
        )


def _refusal(why: str, remote: str, wanted: Wanted) -> StoreError | UsageError:
    if "remote ref" in why or "not our ref" in why:
        return UsageError(
            f"{public(remote)} has no {'tag' if wanted.tag else 'commit'} {wanted.tag or wanted.commit} ({why})"
        )
    return StoreError(
        f"PyTorch's test files could not be fetched from {public(remote)} ({why}): name a mirror or a checkout with "
        f"--remote, or copy a PyTorch tree of {wanted.name} to this machine and run with --upstream PATH"
    )


def _swap(partial: Path, final: Path) -> None:
    if final.exists():
        final.rename(Path(tempfile.mkdtemp(prefix=_OLD, dir=final.parent)) / "gone")
    partial.rename(final)
    _sweep(final.parent)


def public(remote: str) -> str:
    """An address without the password or token that it may hold."""
    parts = urlsplit(remote)
    secret = parts.password or (parts.username and parts.scheme in ("http", "https"))
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if secret else remote
