"""How the result of an op may be compared, from `special.toml` and the tolerances of its OpInfo."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec
import torch

from conformance.suites.ops.compare import BY_DTYPE, EXACT, Tolerance
from conformance.suites.ops.samples import Call


class Compared(StrEnum):
    """What is compared of a result.

    values: all of it. processed: what PyTorch's process function of the sample keeps. signs: a QR factorisation up to
    phases. fitting, shifts: integers where the cast or the shift is defined. distribution: form and distribution.
    form: number, shapes, dtypes and strides of the tensors.
    """

    VALUES = "values"
    PROCESSED = "processed"
    SIGNS = "signs"
    FITTING = "fitting"
    SHIFTS = "shifts"
    DISTRIBUTION = "distribution"
    FORM = "form"


UNPREDICTABLE: Final = frozenset({Compared.DISTRIBUTION, Compared.FORM})
"""Nothing can be said of a single value."""


class Special(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ops whose results are compared otherwise than by value, and why. `ops` are full names.

    `when` restricts it to samples with keyword arguments that are given (true) or given as false (false). `cluster` is
    the number of last dimensions whose elements are drawn together, so that they count as one.
    """

    compared: Compared
    reason: str
    ops: frozenset[str]
    when: dict[str, bool] = {}
    cluster: int = 0

    def speaks_of(self, call: Call) -> bool:
        """Whether this holds for a sample."""
        return all(name in call.kwargs and _given(call.kwargs[name]) == wanted for name, wanted in self.when.items())


def _given(value: Any) -> bool:
    return True if isinstance(value, torch.Tensor) else bool(value)


class Wider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ops that round several times, so that two right answers differ by more than one rounding. Dtypes by name.

    Without `kinds` in every kind of test.
    """

    reason: str
    ops: frozenset[str]
    dtypes: frozenset[str]
    tolerance: Tolerance
    kinds: frozenset[str] = frozenset()


class Placement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ops that must be told of the device (`factory`), or that take some tensors on the CPU only (`host`)."""

    reason: str
    factory: frozenset[str] = frozenset()
    host: dict[str, int] = {}


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tests that PyTorch's own rules exclude and that no mark of its OpInfo tells of. Empty sets mean all."""

    id: str
    reason: str
    kinds: frozenset[str]
    ops: frozenset[str]
    dtypes: frozenset[str] = frozenset()

    def matches(self, kind: str, op: str, dtype: str) -> bool:
        """Whether the rule speaks of that test."""
        return kind in self.kinds and op in self.ops and (not self.dtypes or dtype in self.dtypes)


class Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contents of special.toml."""

    special: tuple[Special, ...] = ()
    wider: tuple[Wider, ...] = ()
    placement: tuple[Placement, ...] = ()
    ineligible: tuple[Rule, ...] = ()


PLAIN: Final = Special(compared=Compared.VALUES, reason="", ops=frozenset())
"""How a result is compared unless something is said about its op."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Allowance:
    """How one op's results are compared, and where its arguments go.

    `factory`: the op makes tensors from nothing and is given `device=`. `host`: the number of the positional argument
    that stays on the CPU, None for none.
    """

    specials: tuple[Special, ...] = ()
    tolerances: Mapping[torch.dtype, Tolerance] = field(default_factory=dict)
    factory: bool = False
    host: int | None = None

    def of(self, call: Call | None) -> Special:
        """How the result of one sample is compared."""
        if not self.specials:
            return PLAIN
        return next((each for each in self.specials if call is None or each.speaks_of(call)), PLAIN)


@cache
def data() -> Data:
    """The shipped special.toml."""
    return msgspec.toml.decode((files("conformance.suites.ops") / "special.toml").read_bytes(), type=Data)


def allowance(op: Any, kind: str) -> Allowance:
    """How the results of `op` are compared in tests of that kind, and its arguments placed."""
    name, placements = op.full_name, data().placement
    return Allowance(
        specials=tuple(each for each in data().special if name in each.ops), tolerances=tolerances(op, kind),
        factory=any(name in each.factory for each in placements),
        host=next((each.host[name] for each in placements if name in each.host), None),
    )  # fmt: skip


_CLASSES = (None, "TestCommon")
_DEVICES = (None, "cpu")


def tolerances(op: Any, kind: str) -> dict[torch.dtype, Tolerance]:
    """The tolerances that an OpInfo widens for PyTorch's own generic tests, and special.toml's; never narrower ones."""
    found: dict[torch.dtype, Tolerance] = {}
    for decorator in _decorators(op):
        for dtype, given in decorator.d.items():
            absolute, relative = (given.atol, given.rtol) if hasattr(given, "atol") else (given, 0.0)
            _widen(found, dtype, Tolerance(absolute=absolute, relative=relative))
    for each in data().wider:
        if op.full_name in each.ops and (not each.kinds or kind in each.kinds):
            for name in each.dtypes:
                _widen(found, getattr(torch, name), each.tolerance)
    return found


def _widen(found: dict[torch.dtype, Tolerance], dtype: torch.dtype, wider: Tolerance) -> None:
    before = found.get(dtype) or BY_DTYPE.get(dtype, EXACT)
    found[dtype] = Tolerance(
        absolute=max(before.absolute, wider.absolute), relative=max(before.relative, wider.relative),
        of_largest=max(before.of_largest, wider.of_largest),
    )  # fmt: skip


def _decorators(op: Any) -> list[Any]:
    """Decorators for all of an op's tests, or for the generic ones on any device or the CPU."""
    found: list[Any] = []
    for each in op.decorators:
        if not hasattr(each, "test_name"):
            found.append(each)
        elif each.cls_name in _CLASSES and each.device_type in _DEVICES and each.active_if is True:
            found.extend(each.decorators)
    return [each for each in found if type(each).__name__ in ("toleranceOverride", "precisionOverride")]
