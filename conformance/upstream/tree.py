"""A PyTorch source tree: its version, its commit, and what was changed in it. git checkouts and plain folders."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.errors import UsageError
from conformance.upstream import git
from conformance.upstream.installed import Torch, number

FOLDERS: Final = ("test", "tools")
"""What is needed of the repository: the tests, and what some of them import. The root's own files come along."""
VERSION_FILE: Final = "version.txt"
_LISTED: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """A tree at `root`. `version` is its release's number.

    In a git checkout `commit` is its commit and `changed` the files that differ from it, relative to `root`; a plain
    folder has neither, and its `digest` is over all its Python files. With changed files `digest` is over those.
    """

    root: Path
    version: str
    tag: str = ""
    commit: str = ""
    changed: tuple[str, ...] = ()
    digest: str = ""

    @property
    def tests(self) -> Path:
        """The folder that test files are named relative to."""
        return self.root / "test"

    @property
    def stamp(self) -> str:
        """Equal for trees with equal tests; compared when a run is resumed."""
        return " ".join(each for each in (self.version, self.commit, self.digest) if each)

    @property
    def state(self) -> str:
        """What was changed in it, for people."""
        if not self.commit:
            return "unknown: no git checkout"
        if not self.changed:
            return "none"
        more = len(self.changed) - _LISTED
        return ", ".join(self.changed[:_LISTED]) + (f" and {more} more" if more > 0 else "")

    def fits(self, torch: Torch) -> bool:
        """Whether its tests are those of this torch: of the same release, for a build before a release the commit."""
        if self.commit and self.commit == torch.commit:
            return True
        exact = not torch.tag and self.commit and torch.commit
        return not exact and self.version == torch.number

    def facts(self, torch: Torch) -> dict[str, str]:
        """What a run records of it."""
        return {
            "upstream.path": str(self.root), "upstream.version": self.version, "upstream.tag": self.tag,
            "upstream.commit": self.commit, "upstream.changed": self.state, "upstream.digest": self.digest,
            "upstream.mismatch": "" if self.fits(torch) else f"tests of {self.version} on torch {torch.version}",
        }  # fmt: skip

    def within(self, asked: str) -> str:
        """A path as it was asked for, relative to the folder of tests; "" when it names nothing in it.

        A part after `::` is kept. A relative path is looked for in the tree alone, an absolute one must lead into it.
        """
        path, mark, part = asked.partition("::")
        place = self.tests / path
        try:
            inside = place.resolve().relative_to(self.tests.resolve())
        except (ValueError, OSError, RuntimeError):
            return ""
        return f"{inside.as_posix()}{mark}{part}" if place.exists() and inside.parts else ""


def read(root: Path) -> Tree:
    """The tree in a folder. Raises UsageError when there is none."""
    root = root.absolute()
    if not (root / "test").is_dir() or not (root / VERSION_FILE).is_file():
        raise UsageError(
            f"{root} is no PyTorch source tree (a folder with test/ and {VERSION_FILE}): name the root of a checkout"
        )
    return _checkout(root) if (root / ".git").exists() else _folder(root)


def _folder(root: Path) -> Tree:
    return Tree(root=root, version=_version(root), digest=_digest(root, _sources(root)))


def _checkout(root: Path) -> Tree:
    try:
        commit = git.ask(root, "rev-parse", "--verify", "HEAD^{commit}").strip()
        tags = git.ask(root, "tag", "--points-at", "HEAD").split()
        changed = tuple(_changed(root))
    except git.GitError as error:
        raise UsageError(
            f"git cannot read the checkout {root} ({error}): repair it, or copy its files without .git"
        ) from error
    tag = next((each for each in sorted(tags, key=len) if each[:1] == "v" and each[1:2].isdigit()), "")
    version = number(tag) if tag else _version(root)
    digest = _digest(root, (root / each for each in changed)) if changed else ""
    return Tree(root=root, version=version, tag=tag, commit=commit, changed=changed, digest=digest)


def _changed(root: Path) -> Iterator[str]:
    """Files that differ from the commit, and Python files that it does not have: they could be imported."""
    said = git.ask(
        root, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all",
        "--", *FOLDERS, VERSION_FILE,
    )  # fmt: skip
    for entry in said.split("\0"):
        state, path = entry[:2], entry[3:]
        if path and (state != "??" or path.endswith(".py")):
            yield path


def _version(root: Path) -> str:
    try:
        return number((root / VERSION_FILE).read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{root / VERSION_FILE} cannot be read: {error}") from error


def _sources(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((root / folder).rglob("*.py"))


def _digest(root: Path, paths: Iterable[Path]) -> str:
    whole = hashlib.blake2b(digest_size=16)
    for path in paths:
        whole.update(path.relative_to(root).as_posix().encode("utf-8", "surrogateescape") + b"\0")
        whole.update(path.read_bytes() if path.is_file() else b"")
    return whole.hexdigest()
