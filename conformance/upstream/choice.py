"""Which tree a run takes its test files from: the one named, else the one fetched for the installed torch."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.errors import UsageError
from conformance.upstream import checkout, tree
from conformance.upstream.installed import Torch
from conformance.upstream.tree import Tree

ROOT: Final = "CONFORMANCE_UPSTREAM"
"""Variable: the root of a PyTorch source tree."""
ALLOW: Final = "CONFORMANCE_ALLOW_UPSTREAM_MISMATCH"
"""Variable: 1 lets the tests of one version run on a torch of another."""


def named(option: str | None) -> str:
    """The tree that the user names, by option or variable; "" for none."""
    return option or os.environ.get(ROOT, "")


def find(cache: Path, torch: Torch, option: str | None = None) -> Tree | None:
    """The tree to take; None when none is named and none was fetched.

    Raises UsageError when the one named is no tree, or the fetched one is not what was fetched.
    """
    given = named(option)
    return tree.read(Path(given)) if given else checkout.fetched(cache, checkout.name_for(torch))


def require(cache: Path, torch: Torch, option: str | None = None) -> Tree:
    """As `find`; raises UsageError with the remedy when there is none."""
    found = find(cache, torch, option)
    if found is None:
        raise UsageError(
            f"PyTorch's test files for torch {torch.version} are not on this machine: get them with `conformance "
            "upstream fetch`, or name a PyTorch source tree with --upstream PATH"
        )
    return found


def require_fit(found: Tree, torch: Torch, *, allowed: bool) -> None:
    """Raises UsageError when a tree's tests are not those of the torch that they would run on, unless allowed."""
    if not (allowed or os.environ.get(ALLOW) == "1" or found.fits(torch)):
        commit = f" at commit {found.commit[:12]}" if found.commit else ""
        raise UsageError(
            f"{found.root} has the tests of PyTorch {found.version}{commit}, but torch {torch.version} is installed: "
            "fetch its own with `conformance upstream fetch`, or give --allow-upstream-mismatch"
        )


def inside(found: Tree, asked: str) -> str:
    """A path as it was asked for; relative to the tree's tests when it leads into them.

    A name such as `test_ops.py` is looked for in the tree before the current folder, `./test_ops.py` is not.
    """
    path, mark, part = asked.partition("::")
    from_here = found.within(f"{Path(path).absolute()}{mark}{part}")
    return from_here or (not path.startswith(".") and found.within(asked)) or asked


def located(asked: str) -> str:
    """Where a selected test file is on this machine: below the tree of this process, or as it was asked for.

    For processes of a run, which are told the tree by the variable. A part after `::` is kept.
    """
    root = os.environ.get(ROOT, "")
    path, mark, part = asked.partition("::")
    place = Path(root, "test", path) if root and not path.startswith(".") else Path(path)
    return f"{place}{mark}{part}" if place.exists() else asked


@dataclass(frozen=True, kw_only=True, slots=True)
class Used:
    """The tree that a run takes test files from, on the torch that it runs on.

    `files` says how many of the tree's files the run has and what became of the rest; "" where files were named.
    """

    tree: Tree
    torch: Torch
    files: str = ""

    def variables(self) -> dict[str, str]:
        """What tells the processes of a run."""
        return {ROOT: str(self.tree.root)}

    def facts(self) -> dict[str, str]:
        """What a run records."""
        listed = {"upstream.files": self.files} if self.files else {}
        return {**self.tree.facts(self.torch), **listed}


def sources(used: Used | None, files: Iterable[str]) -> list[Path]:
    """Where the selected files of a tree are; folders are left out."""
    if used is None:
        return []
    paths = {used.tree.tests / each.partition("::")[0] for each in files}
    return sorted(each for each in paths if each.is_file())


def prints(used: Used | None) -> dict[str, str]:
    """What must be equal for a run to be resumed."""
    return {"upstream tree": used.tree.stamp} if used else {}


def variables(used: Used | None) -> dict[str, str]:
    """What tells the processes of a run; without a tree, that the user's variable is not meant for them."""
    return used.variables() if used else {ROOT: ""}
