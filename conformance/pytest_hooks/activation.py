"""A target, made ready for PyTorch's device-generic tests in this process."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from conformance import targets
from conformance.errors import UsageError
from conformance.targets import Device, Target

ONLY_FOR: Final = "PYTORCH_TESTING_DEVICE_ONLY_FOR"
"""PyTorch's variable: the device types for which its tests are generated."""
PRIVATE: Final = "privateuse1"
IN_TREE: Final = frozenset({"cpu", "cuda"})
"""Devices for which PyTorch's test harness has classes of their own; any other one is its PrivateUse1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """The target and release to run, known to exist; nothing is started."""

    target: Target
    release: str

    @property
    def variables(self) -> Mapping[str, str]:
        """What to set in the environment of every process, before torch is imported."""
        return self.target.environment(self.release)


def choose(name: str, release: str) -> Chosen:
    """The target of that name with everything that it needs. Raises UsageError; imports no torch."""
    target = targets.get(name)
    missing = [each for each in target.checks() if not each.present]
    if missing:
        raise UsageError(f"target {name!r} needs {missing[0].name}: {missing[0].remedy}")
    return Chosen(target=target, release=targets.choose_release(target, release or None))


def activate(chosen: Chosen) -> Device:
    """Start the device and make PyTorch generate its tests for it. Raises UsageError when the device cannot start."""
    os.environ.update(chosen.variables)
    device = chosen.target.activate(chosen.release)
    for_device_tests(device.device)
    return device


def for_device_tests(device: str) -> None:
    """Make instantiate_device_type_tests generate tests for the active device and no other.

    Must come before any test file is imported. PrivateUse1TestBase learns the device's name in setUpClass; called late,
    the first generated class would be named PRIVATEUSE1 and the later ones after the device.
    """
    os.environ[ONLY_FOR] = device if device in IN_TREE else PRIVATE
    if device in IN_TREE:
        return
    early = "torch.testing._internal.common_device_type" in sys.modules
    if (preloaded := sys.modules.get("conformance.pytest_hooks.harness")) is not None:
        preloaded.announce()
    from torch.testing._internal import common_device_type as harness

    if harness.PrivateUse1TestBase not in harness.device_type_test_bases:
        why = "was imported before the device was registered" if early else "does not see the device"
        raise UsageError(
            f"torch.testing._internal.common_device_type {why}: import it in no plugin and no sitecustomize"
        )
    harness.PrivateUse1TestBase.setUpClass()


def quicken() -> None:
    """Two shortcuts in PyTorch's harness that change no outcome.

    `extract_test_fn` looks for the running test with inspect.stack(), which reads source files; a walk over the frames
    finds the same. `torch.manual_seed` queues a formatted stack for every accelerator that is not there.
    """
    import torch
    from torch.testing._internal import common_utils
    from torch.testing._internal.opinfo import core

    common_utils.extract_test_fn = running_test
    core.extract_test_fn = running_test
    accelerators: tuple[Any, ...] = (torch.cuda, torch.xpu, torch.mtia)
    for each in accelerators:
        if not each.is_available():
            each.manual_seed_all = _no_seed


def _no_seed(seed: int) -> None:
    """There is no accelerator to seed."""


def running_test() -> Any:
    """The function of the unittest test that is running, found from the innermost frame outwards; None without one."""
    import unittest

    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if "self" in code.co_varnames or "self" in code.co_freevars:
            found = _test_of(frame.f_locals.get("self"), unittest.TestCase)
            if found is not None:
                return found
        frame = frame.f_back
    return None


def _test_of(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        return None
    case: Any = value
    *_, cls, name = case.id().rsplit(".", 2)
    if cls != type(case).__name__ or not name.startswith("test"):
        return None
    return getattr(getattr(case, name, None), "__func__", None)
