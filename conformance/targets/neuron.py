"""Targets `trn2` and `trn3`: TorchNeuron, the native PyTorch backend, through its documented names.

Source of the names: the TorchNeuron API reference of the AWS Neuron SDK (release 2.33, torch-neuronx 2.14). Nothing
here could be run without the hardware; each name is looked for on the installed build, and a missing one is named.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final, cast

from conformance.errors import UsageError
from conformance.targets import Check, Device, Target
from conformance.targets.tracked import TRACKERS, Namespace, TrackedDevice

VARIABLES: Final = (
    "TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS",
    "TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION",
    "NEURON_RT_VISIBLE_CORES",
    "NEURON_RT_NUM_CORES",
    "NEURON_RT_EXEC_TIMEOUT",
    "NEURON_RT_STOCHASTIC_ROUNDING_EN",
    "NEURON_LOGICAL_NC_CONFIG",
    "NEURON_CC_FLAGS",
    "NEURON_COMPILE_CACHE_URL",
    "NEURON_PLATFORM_TARGET_OVERRIDE",
    "TORCH_NEURONX_SYNC_MODE",
)
"""Variables that change answers or times, recorded with a run."""

_WHERE: Final = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/"
_PRODUCT: Final = Path("/sys/devices/virtual/dmi/id/product_name")
_RUNTIMES: Final = (Path("/opt/aws/neuron/lib/libnrt.so.1"), Path("/opt/aws/neuron/lib/libnrt.so"))
_CACHE: Final = "/var/tmp/neuron-compile-cache"
_OLDEST: Final = (2, 14)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trainium:
    """One generation of the hardware as a target; the installed torch-neuronx names its own release."""

    name: str
    simulated: bool = False

    @property
    def description(self) -> str:
        """One line for `conformance targets`."""
        return f"AWS Trainium{self.name.removeprefix('trn')} through torch-neuronx, device `neuron`"

    def releases(self) -> tuple[str, ...]:
        """None to choose from: the installed one is swept."""
        return ()

    def checks(self) -> tuple[Check, ...]:
        """Hardware, driver, runtime, torch and torch-neuronx, found without importing any of them."""
        return (_instance(self.name), _driver(), _runtime(), _torch(), _package())

    def environment(self, release: str) -> Mapping[str, str]:
        """Nothing is set: the backend is swept as the machine configures it, and its variables are recorded."""
        return {}

    def compile_cache(self) -> str:
        """The compiler's cache: --cache_dir in NEURON_CC_FLAGS, else NEURON_COMPILE_CACHE_URL, else the default."""
        flag = re.search(r"--cache_dir[= ](\S+)", os.environ.get("NEURON_CC_FLAGS", ""))
        return flag[1] if flag else os.environ.get("NEURON_COMPILE_CACHE_URL") or _CACHE

    def activate(self, release: str) -> Device:
        """Import torch-neuronx and find its trackers. UsageError says the first thing that is missing."""
        for check in self.checks():
            if not check.present:
                raise UsageError(f"target {self.name!r} needs {check.name}: {check.remedy}")
        return TrackedDevice(backend=_trackers(self.name), facts=facts)


def _instance(name: str) -> Check:
    product = _PRODUCT.read_text().strip() if _PRODUCT.exists() else ""
    found = product.startswith(name) or os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE") == name
    return Check(name=f"{name} instance", present=found, remedy=f"run on an EC2 {name} instance, or sweep target sim")


def _driver() -> Check:
    found = any(Path("/dev").glob("neuron[0-9]*"))
    return Check(name="Neuron driver (/dev/neuron0)", present=found, remedy="install aws-neuronx-dkms")


def _runtime() -> Check:
    found = any(path.exists() for path in _RUNTIMES)
    return Check(name="Neuron runtime (libnrt.so.1)", present=found, remedy="install aws-neuronx-runtime-lib")


def _torch() -> Check:
    return Check(name="torch", present=find_spec("torch") is not None, remedy=f"install it as {_WHERE} says")


def _package() -> Check:
    """The package of this name on the public index is a placeholder of an older kind of backend."""
    try:
        installed = version("torch-neuronx")
    except PackageNotFoundError:
        return Check(name="torch-neuronx", present=False, remedy=f"install it from the Neuron repository: {_WHERE}")
    numbers = tuple(int(part) for part in installed.split(".")[:2] if part.isdigit())
    remedy = f"version {installed} is installed, 2.14 or newer is needed: {_WHERE}"
    present = numbers >= _OLDEST and find_spec("torch_neuronx") is not None
    return Check(name="torch-neuronx 2.14 or newer", present=present, remedy="" if present else remedy)


def _trackers(name: str) -> Namespace:
    import torch

    try:
        torch_neuronx: ModuleType = __import__("torch_neuronx")
    except Exception as error:  # a broken install fails in its own ways, all of them the user's to see
        sentence = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UsageError(f"target {name!r} cannot import torch_neuronx ({sentence}): reinstall it, {_WHERE}") from error
    return find_trackers((getattr(torch, "neuron", None), torch_neuronx), name)


def find_trackers(modules: tuple[Any, ...], name: str) -> Namespace:
    """The tracker functions from the first module that has each. UsageError names all that none has."""
    found = {
        each: next(getattr(module, each) for module in modules if hasattr(module, each))
        for each in TRACKERS
        if any(hasattr(module, each) for module in modules)
    }
    if missing := [each for each in TRACKERS if each not in found]:
        raise UsageError(
            f"target {name!r}: the installed torch_neuronx lacks {', '.join(missing)}: update it, {_WHERE}"
        )
    return cast(Namespace, SimpleNamespace(**found))


def facts() -> Mapping[str, str]:
    """Versions and the variables in force, recorded with a run."""
    return {
        "backend": "torch-neuronx",
        "torch-neuronx": version("torch-neuronx"),
        "torch": version("torch"),
        **_defaults(),
        **{variable: os.environ[variable] for variable in VARIABLES if variable in os.environ},
    }


def _defaults() -> Mapping[str, str]:
    """What the two fallback variables mean when they are unset: the wheel's own default, and the documented one."""
    try:
        build = import_module("torch_neuronx._build_config")
        only = str(build.DEFAULT_FALLBACK_ONLY_FOR_UNIMPLEMENTED)
    except (ImportError, AttributeError):
        only = "unknown: this build does not say"
    return {VARIABLES[0]: f"{only} (the build's default)", VARIABLES[1]: "1 (documented default)"}


def target(name: str) -> Target:
    """The target `trn2` or `trn3`."""
    return Trainium(name=name)
