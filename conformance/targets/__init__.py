"""Targets: the only place that knows a backend's API. One file a target; `get` finds it by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Protocol, runtime_checkable

from conformance.errors import UsageError
from conformance.inventory.overloads import Registration
from conformance.outcomes import Reached
from conformance.registry import Registry


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiled:
    """One graph that the dynamo backend compiled: nodes in it, seconds spent, whether its cache had it."""

    graph: str
    nodes: int
    compile_seconds: float
    warm: bool


class Device(Protocol):
    """A target's device, activated in this process. Trackers are process-wide: clear, run, synchronize, read."""

    @property
    def device(self) -> str:
        """The device's name in PyTorch, "neuron"."""

    @property
    def compile_backend(self) -> str:
        """What to give torch.compile(backend=…)."""

    @property
    def tracks(self) -> bool:
        """Whether the two op trackers below exist; without them nothing can be proven."""

    def clear(self) -> None:
        """Forget the executed and fallback ops and the compile metrics."""

    def synchronize(self) -> None:
        """Wait until all work queued on the device is done; late errors are raised here."""

    def executed_ops(self) -> frozenset[str]:
        """Names (`aten::add`) of the ops that ran on the device since `clear`."""

    def fallback_ops(self) -> frozenset[str]:
        """Names of the ops that ran on the CPU instead since `clear`."""

    def reached(self) -> Reached | None:
        """The ops of both trackers under the names that they give; None where these are no names of ops."""

    def compiled(self) -> tuple[Compiled, ...]:
        """The graphs compiled since `clear`."""

    def probe(self) -> str | None:
        """None when a small computation on the device is right, else one sentence about what is wrong."""

    def environment(self) -> Mapping[str, str]:
        """Versions and the effective values of the backend's variables, recorded with the run."""


@runtime_checkable
class Declares(Protocol):
    """A device that says itself how it serves an op, where what it registers with PyTorch does not tell."""

    def declared(self) -> Mapping[str, Registration]:
        """Words by op (`aten::sort`), for ops with a registered kernel that is not one; the rest is as registered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One line of `conformance targets`: a name that the target needs, whether it is there, and the remedy."""

    name: str
    present: bool
    remedy: str = ""


class Target(Protocol):
    """Something that can be swept. Importing or probing a target never imports torch; `activate` does."""

    @property
    def name(self) -> str:
        """The name on the command line."""

    @property
    def simulated(self) -> bool:
        """Whether its results say nothing about hardware; shown wherever they are."""

    @property
    def description(self) -> str:
        """One line for `conformance targets`."""

    def releases(self) -> tuple[str, ...]:
        """Releases that can be chosen, newest last; empty when the installed backend names its own."""

    def checks(self) -> tuple[Check, ...]:
        """What the target needs on this machine, present or missing."""

    def environment(self, release: str) -> Mapping[str, str]:
        """Variables to set in every process that uses the device, before torch is imported."""

    def compile_cache(self) -> str:
        """Where compiled graphs are kept, a folder or a URL; "" when nothing is kept."""

    def activate(self, release: str) -> Device:
        """Register the device in this process. Raises UsageError when something is missing."""


_REGISTRY: Final = Registry(
    what="target",
    shipped={
        "sim": "conformance.targets.sim",
        "trn2": "conformance.targets.neuron",
        "trn3": "conformance.targets.neuron",
        "cpu": "conformance.targets.cpu",
    },
    group="conformance.targets",
)
"""Another package's target is an entry point of that group: name = module with `target(name) -> Target`."""

names = _REGISTRY.names
module_of = _REGISTRY.module_of


def get(name: str) -> Target:
    """The target of that name. Each module has `target(name) -> Target`. Raises UsageError for an unknown name."""
    found: Target = import_module(module_of(name)).target(name)
    return found


def _require_free(target: Target, release: str) -> None:
    """Another target's release would mix in comparisons with runs of its own."""
    owner = next((each for each in names() if each != target.name and release in get(each).releases()), "")
    if owner:
        raise UsageError(f"release {release!r} is one of target {owner!r}: name the one of {target.name!r} otherwise")


def choose_release(target: Target, release: str | None) -> str:
    """The release to run: the one asked for, else the newest. Raises UsageError for an unknown one."""
    known = target.releases()
    if release is None:
        return known[-1] if known else "installed"
    if not known:
        _require_free(target, release)
    if known and release not in known:
        raise UsageError(f"unknown release {release!r} of target {target.name!r}: choose one of {', '.join(known)}")
    return release
