"""How the result of an op may be compared, from `special.toml` and the tolerances of its OpInfo."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import torch

from conformance.suites.ops.compare import BY_DTYPE, EXACT, Tolerance


class Compared(StrEnum):
    """What is compared of a result."""

    VALUES = "values"
    PROCESSED = "processed"
    DISTRIBUTION = "distribution"
    FORM = "form"


class Special(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ops whose results are compared otherwise than by value, and why. `ops` are full names; empty `kinds` mean all."""

    compared: Compared
    reason: str
    ops: frozenset[str]
    kinds: frozenset[str] = frozenset()


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
    ineligible: tuple[Rule, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Allowance:
    """How one op's results are compared in one kind of test."""

    compared: Compared = Compared.VALUES
    reason: str = ""
    tolerances: Mapping[torch.dtype, Tolerance] = field(default_factory=dict)


@cache
def data() -> Data:
    """The shipped special.toml."""
    return msgspec.toml.decode((files("conformance.suites.ops") / "special.toml").read_bytes(), type=Data)


def allowance(op: Any, kind: str) -> Allowance:
    """How `op` is compared in tests of `kind`."""
    for each in data().special:
        if op.full_name in each.ops and (not each.kinds or kind in each.kinds):
            return Allowance(compared=each.compared, reason=each.reason, tolerances=tolerances(op))
    return Allowance(tolerances=tolerances(op))


_CLASSES = (None, "TestCommon")
_DEVICES = (None, "cpu")


def tolerances(op: Any) -> dict[torch.dtype, Tolerance]:
    """The tolerances that an OpInfo widens for PyTorch's own generic tests; never narrower than the default ones."""
    found: dict[torch.dtype, Tolerance] = {}
    for decorator in _decorators(op):
        for dtype, given in getattr(decorator, "d", {}).items():
            before = found.get(dtype) or BY_DTYPE.get(dtype, EXACT)
            absolute, relative = (given.atol, given.rtol) if hasattr(given, "atol") else (given, 0.0)
            found[dtype] = Tolerance(
                absolute=max(before.absolute, absolute), relative=max(before.relative, relative)
            )  # fmt: skip
    return found


def _decorators(op: Any) -> list[Any]:
    """Decorators for all of an op's tests, or for the generic ones on any device or the CPU."""
    found: list[Any] = []
    for each in op.decorators:
        if not hasattr(each, "test_name"):
            found.append(each)
        elif each.cls_name in _CLASSES and each.device_type in _DEVICES and each.active_if is True:
            found.extend(each.decorators)
    return [each for each in found if type(each).__name__ in ("toleranceOverride", "precisionOverride")]
