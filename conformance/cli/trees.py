"""The PyTorch tree of a command: which one it takes test files from, and which of its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from conformance.cli import screen
from conformance.errors import UsageError
from conformance.plan import UPSTREAM, Selection
from conformance.upstream import choice, installed, manifest
from conformance.upstream.choice import Used
from conformance.upstream.installed import Torch
from conformance.upstream.manifest import Listing
from conformance.upstream.tree import Tree


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeWish:
    """What the user said of a tree: `path` names one, `allowed` lets its version differ from torch's."""

    cache: Path
    path: str | None = None
    allowed: bool = False

    def there(self) -> bool:
        """Whether there is a tree to take files from."""
        return choice.find(self.cache, installed(), self.path) is not None

    def apply(self, selection: Selection) -> tuple[Selection, Used | None]:
        """The selection with the tree's files written into it, and the tree if any file of it is selected.

        Raises UsageError when suite upstream is selected without a file and there is no tree, when the tree's version
        is not torch's, or when a tree is named and nothing is taken from one.
        """
        if UPSTREAM not in selection.suites:
            if self.path:
                raise UsageError(
                    "--upstream names a tree for suite upstream, which is not selected: add --suite upstream"
                )
            return selection, None
        torch = installed()
        if selection.tests:
            return self._named(selection, torch)
        found = choice.require(self.cache, torch, self.path)
        self._fit(found, torch)
        if selection.files:
            return selection, Used(tree=found, torch=torch)
        listing = manifest.shipped().look(found, "full" if selection.profile == "full" else "default")
        _remark(listing)
        return replace(selection, files=listing.entries), Used(tree=found, torch=torch, files=listing.sentence)

    def _named(self, selection: Selection, torch: Torch) -> tuple[Selection, Used | None]:
        found = choice.find(self.cache, torch, self.path)
        if found is None:
            return selection, None
        tests = tuple(choice.inside(found, each) for each in selection.tests)
        files = tuple(each for each in tests if not Path(each).is_absolute() and found.within(each) == each)
        if not files:
            return selection, None
        self._fit(found, torch)
        for asked, name in zip(selection.tests, tests, strict=True):
            _say_which(found, asked, name)
        return replace(selection, tests=tests, files=files), Used(tree=found, torch=torch)

    def _fit(self, found: Tree, torch: Torch) -> None:
        choice.require_fit(found, torch, allowed=self.allowed)
        if not found.fits(torch):
            screen.remark(f"the tests are those of PyTorch {found.version}, torch is {torch.version}: this is recorded")
        if found.changed:
            screen.remark(f"files of {found.root} differ from its commit: {found.state}")


def of_run(cache: Path, facts: Mapping[str, str], path: str | None) -> Used | None:
    """The tree of an earlier run, as its header tells it, at the place named now or else where it was.

    Raises UsageError when it is not there. Whether it is the same tree is for the run to compare.
    """
    was = facts.get("upstream.path", "")
    if not was:
        return None
    found = choice.require(cache, installed(), choice.named(path) or was)
    return Used(tree=found, torch=installed())


def _remark(listing: Listing) -> None:
    screen.remark(f"PyTorch's {listing.sentence}")
    if listing.unlisted:
        screen.remark("the manifest does not know some files: `conformance upstream files --state unlisted` lists them")
    for name, files in listing.needed.items():
        screen.remark(f"{', '.join(files)} cannot be collected without the package {name}, which is not installed")


def _say_which(found: Tree, asked: str, name: str) -> None:
    path = Path(asked.partition("::")[0])
    if name == asked and path.exists() and not path.resolve().is_relative_to(found.tests.resolve()):
        screen.remark(f"{asked} is the one of {found.root}; the one in this folder is ./{asked}")
