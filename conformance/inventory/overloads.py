"""The aten overloads that a torch has, how a device serves each, and what a tracker's name for one means."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

import msgspec

ATEN: Final = "aten"
_DEFAULT: Final = "default"
"""What Python calls the overload without a name (torch.ops.aten.sin.default)."""


class Registration(StrEnum):
    """Who takes a call of an overload on the device, as the dispatcher has it; exactly one holds."""

    KERNEL = "kernel"
    """The backend registers a kernel of its own."""
    COMPOSITE_IMPLICIT = "composite_implicit"
    """PyTorch takes it apart before the backend sees it: no kernel of its own is needed."""
    COMPOSITE_EXPLICIT = "composite_explicit"
    """One kernel of PyTorch serves every backend, by calling other ops."""
    AUTOGRAD = "autograd"
    """The backend registers an autograd kernel alone."""
    FALLBACK = "fallback"
    """No kernel: the backend's boxed fallback takes it to the CPU."""
    NONE = "none"
    """Nobody: a call raises NotImplementedError."""


class Tells(StrEnum):
    """What the trackers of a device tell of an op."""

    OVERLOADS = "overloads"
    NAMES = "names"
    NOTHING = "nothing"


class Overloads(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Asked of a device once a run. `served` lists full names by registration, `left_out` counts other namespaces.

    `key` is the device's dispatch key, `named` gives for ops as tests name them the aten ops (`aten::add`) behind them.
    """

    torch: str
    device: str
    key: str
    tells: Tells
    served: dict[Registration, tuple[str, ...]]
    left_out: dict[str, int] = {}
    named: dict[str, tuple[str, ...]] = {}

    @property
    def number(self) -> int:
        """How many overloads there are."""
        return sum(map(len, self.served.values()))

    def registrations(self) -> dict[str, Registration]:
        """The registration of each overload, sorted by name."""
        pairs = ((name, word) for word, names in self.served.items() for name in names)
        return dict(sorted(pairs))


def base_of(full: str) -> str:
    """`aten::add` for `aten::add.Tensor`."""
    return full.partition(".")[0]


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """What a tracker's name stands for: one overload, one of several, or (with neither) nothing that torch has."""

    full: str = ""
    one_of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Catalogue:
    """Finds overloads by the names that trackers give."""

    overloads: Overloads

    @cached_property
    def by_base(self) -> Mapping[str, tuple[str, ...]]:
        """The overloads of each op."""
        found: dict[str, list[str]] = {}
        for full in self.overloads.registrations():
            found.setdefault(base_of(full), []).append(full)
        return {base: tuple(names) for base, names in found.items()}

    def meaning(self, name: str) -> Meaning:
        """What a name stands for; one without overload stands for the only one, or for one of several."""
        base, overload = self._parted(name)
        known = self.by_base.get(base, ())
        full = f"{base}.{overload}" if overload else base
        # A bare name is that of the overload without a name only where the tracker names all the others.
        if full in known and (overload is not None or self.overloads.tells is Tells.OVERLOADS):
            return Meaning(full=full)
        return Meaning(full=known[0]) if len(known) == 1 and overload is None else Meaning(one_of=known)

    def _parted(self, name: str) -> tuple[str, str | None]:
        """Op and overload of `add`, `add.Tensor`, `aten.add`, `aten.add.Tensor` and `aten::add.Tensor`."""
        space, colons, rest = name.partition("::")
        if not colons:
            first, _, more = name.partition(".")
            spaced = more and (first == ATEN or first in self.overloads.left_out)
            space, rest = (first, more) if spaced else (ATEN, name)
        op, dot, overload = rest.partition(".")
        if not dot:
            return f"{space}::{op}", None
        return f"{space}::{op}", "" if overload == _DEFAULT else overload

    def overloads_of(self, bases: Iterable[str]) -> list[str]:
        """Every overload of some ops."""
        return [full for base in bases for full in self.by_base.get(base, ())]
