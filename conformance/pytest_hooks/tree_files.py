"""A pytest plugin for files of a PyTorch source tree: where they import from, and the device they are asked to test.

It is inert for files outside the tree that the process was told of.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from conformance.errors import UsageError
from conformance.upstream import choice, classes, installed, manifest, tree

CUSTOM: Final = "PYTORCH_TESTING_DEVICE_FOR_CUSTOM"
"""PyTorch's variable: devices of others for which it makes those classes, too, that name devices of its own."""
_GIVEN: Final = os.environ.get(CUSTOM, "")
_NAME: Final = "conformance.pytest_hooks.tree_files"


def options(paths: Iterable[Path]) -> tuple[str, ...]:
    """What pytest is to be told when it collects these paths; nothing when none is in the tree.

    PyTorch's own conftest reports for its own continuous integration and is written for pytest 7: that of version 2.4
    ends the session under pytest 9. Nothing in it decides an outcome.
    """
    inside = any(map(_below, paths))
    return ("-p", _NAME, "--noconftest") if inside else ()


def _below(path: Path) -> str:
    """A path below the tree's folder of tests; "" for one that is elsewhere."""
    root = os.environ.get(choice.ROOT, "")
    if not root:
        return ""
    try:
        return path.resolve().relative_to(Path(root, "test").resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):
        return ""


def needs(path: Path) -> tuple[str, ...]:
    """The packages that the manifest says a file of the tree cannot do without."""
    run = manifest.shipped().runs.get(_below(path))
    return run.needs if run is not None else ()


def facts(paths: Iterable[Path]) -> dict[str, str]:
    """What a run records of the tree, when it has a file of it."""
    if not any(map(_below, paths)):
        return {}
    try:
        return tree.read(Path(os.environ[choice.ROOT])).facts(installed())
    except UsageError as error:
        return {"upstream.path": os.environ[choice.ROOT], "upstream.changed": f"unknown: {error}"}


def pytest_configure() -> None:
    """Let the tree's files import each other and its `tools`; the installed packages come first.

    A full checkout has folders named torch and functorch, which are not the installed ones.
    """
    root = os.environ.get(choice.ROOT, "")
    for each in (str(Path(root, "test")), root) if root else ():
        if each not in sys.path:
            sys.path.append(each)


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Before a file is imported, ask PyTorch to make its classes for the device where the manifest says so.

    That asks for every class of the file. Those for another device alone, which the plan has no place for, are not
    made: one of them has 45,000 tests.
    """
    if not isinstance(collector, pytest.Module):
        return
    run = manifest.shipped().runs.get(_below(collector.path))
    custom = run is not None and run.custom
    os.environ[CUSTOM] = ",".join(_device_names()) if custom else _GIVEN
    _leave_out(classes.read(_text(collector.path)).for_others(custom=True) if custom else ())


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _leave_out(names: tuple[str, ...]) -> None:
    """Tell PyTorch's class for devices of others which classes of the next file it is not to make; () for none."""
    from torch.testing._internal.common_device_type import PrivateUse1TestBase

    PrivateUse1TestBase.test_exclusions = dict.fromkeys(names, "*") or None


def _device_names() -> tuple[str, ...]:
    """The device as PyTorch's harness may call it: its name changes when the first class is made."""
    import torch

    return ("privateuse1", torch._C._get_privateuse1_backend_name())
