"""Which of PyTorch's test files a device backend runs, and why the others are left out: `manifest.toml` read."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from conformance.errors import UsageError
from conformance.upstream import classes
from conformance.upstream.tree import Tree

_SHIPPED: Final = Path(__file__).with_name("manifest.toml")
_PATTERNS: Final = ("test_*.py", "*_test.py")

Profile = Literal["default", "full"]


class Run(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files to run, below the tree's folder of tests. `group` says what they test, `torch` in which versions they are.

    `classes` restricts them; without, the classes made for a device are taken. `custom`: PyTorch makes them for its own
    devices alone, unless its variable PYTORCH_TESTING_DEVICE_FOR_CUSTOM asks for another. `needs` are packages.
    """

    group: str
    files: tuple[str, ...]
    profile: Profile = "default"
    classes: tuple[str, ...] = ()
    custom: bool = False
    needs: tuple[str, ...] = ()
    torch: str = ""

    def has(self, version: str) -> bool:
        """Whether a version of PyTorch is said to have these files."""
        return not self.torch or version in SpecifierSet(self.torch)


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files and folders (with a slash at their end) that are not run, for one reason."""

    reason: str
    paths: tuple[str, ...]


class _Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    run: tuple[Run, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """A test file of a tree, `path` below its folder of tests. `run` is None for one that is left out or unlisted.

    `classes` are those to run, () for all; `reason` is why it is left out, "" for one that the manifest does not know.
    """

    path: str
    run: Run | None = None
    reason: str = ""
    classes: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[str, ...]:
        """The file as `Selection.files` names it."""
        return tuple(f"{self.path}::{each}" for each in self.classes) or (self.path,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """Every test file of a tree, and the files that the manifest expects there and the tree has not."""

    files: tuple[File, ...]
    missing: tuple[str, ...]
    profile: Profile

    @property
    def chosen(self) -> tuple[File, ...]:
        """The files of the profile, in the manifest's order."""
        return tuple(each for each in self.files if each.run and self.profile in ("full", each.run.profile))

    @property
    def unlisted(self) -> tuple[str, ...]:
        """Files that the manifest does not know."""
        return tuple(each.path for each in self.files if not each.run and not each.reason)

    @property
    def entries(self) -> tuple[str, ...]:
        """What a run over the profile selects."""
        return tuple(entry for each in self.chosen for entry in each.entries)

    @property
    def needed(self) -> dict[str, list[str]]:
        """Packages that are not installed, and the chosen files that need them."""
        found: dict[str, list[str]] = {}
        for each in self.chosen:
            for name in each.run.needs if each.run else ():
                if find_spec(name) is None:
                    found.setdefault(name, []).append(each.path)
        return found

    @property
    def sentence(self) -> str:
        """How many files are run and what became of the others; the numbers add up to the tree's test files."""
        other = sum(1 for each in self.files if each.run) - len(self.chosen)
        left = sum(1 for each in self.files if each.reason)
        numbers = [f"{len(self.chosen)} run", f"{other} of the full profile alone" if other else ""]
        numbers += [f"{left} left out with a reason", f"{len(self.unlisted)} unlisted"]
        absent = f"; {len(self.missing)} that the manifest names are not in this tree" if self.missing else ""
        return f"{len(self.files)} test files: {', '.join(each for each in numbers if each)}{absent}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """The files to run in order, and the reasons of the others by path."""

    runs: Mapping[str, Run]
    reasons: Mapping[str, str]

    def reason(self, path: str) -> str:
        """Why a file is left out: by its own path, else by the nearest folder above it; "" when nothing says."""
        above = [f"{each.as_posix()}/" for each in PurePosixPath(path).parents]
        return next((self.reasons[each] for each in (path, *above) if each in self.reasons), "")

    def look(self, tree: Tree, profile: Profile) -> Listing:
        """Every test file of a tree, sorted into run, left out and unlisted."""
        there = set(_test_files(tree.tests)) | {each for each in self.runs if (tree.tests / each).is_file()}
        ordered = [*(each for each in self.runs if each in there), *sorted(there.difference(self.runs))]
        missing = tuple(each for each, run in self.runs.items() if each not in there and run.has(tree.version))
        return Listing(files=tuple(self._file(tree, each) for each in ordered), missing=missing, profile=profile)

    def _file(self, tree: Tree, path: str) -> File:
        run = self.runs.get(path)
        if run is None:
            return File(path=path, reason=self.reason(path))
        text = (tree.tests / path).read_text(encoding="utf-8", errors="replace")
        return File(path=path, run=run, classes=run.classes or classes.read(text).for_device(custom=run.custom))


def makes_device_tests(tree: Tree, path: str) -> bool:
    """Whether a file makes tests for several types of devices, so that leaving it out is worth a look."""
    text = (tree.tests / path).read_text(encoding="utf-8", errors="replace")
    return bool(classes.read(text).for_device(custom=True))


def _test_files(folder: Path) -> Iterator[str]:
    for pattern in _PATTERNS:
        yield from (each.relative_to(folder).as_posix() for each in folder.rglob(pattern))


@cache
def shipped() -> Manifest:
    """The manifest of this package."""
    return load(_SHIPPED)


def load(path: Path) -> Manifest:
    """Read a manifest. Raises UsageError for an unknown key, a path twice, or a version range that is none."""
    try:
        data = msgspec.convert(tomllib.loads(path.read_text()), _Data)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path} is no manifest of test files: {error}") from error
    runs = _once(path, ((file, each) for each in data.run for file in each.files))
    reasons = _once(path, ((file, each.reason) for each in data.left_out for file in each.paths))
    for each in (*runs, *reasons):
        if (each in runs and each in reasons) or each.startswith(("/", ".")) or not each.endswith((".py", "/")):
            raise UsageError(f"{path}: {each!r} must be a file (.py) or folder (/) below test, either run or left out")
    for run in data.run:
        _check_range(path, run.torch)
    return Manifest(runs=runs, reasons=reasons)


def _once(path: Path, pairs: Iterator[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise UsageError(f"{path}: {name!r} is listed twice: keep one of the entries")
        found[name] = value
    return found


def _check_range(path: Path, text: str) -> None:
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        raise UsageError(f"{path}: torch = {text!r} is no range of versions: one looks like >=2.5,<3") from None
