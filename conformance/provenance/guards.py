"""Skips that can be told before a test runs: its decorators, read without calling anything that skips.

PyTorch's device guards wrap the test one in another; each wrapper is known by the qualified name of its code, and what
it compares by its closure. The names are those of torch.testing._internal in torch 2.13; a guard that is not in the
table is not foreseen, and its skip is explained by the frame that raises it.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import FunctionType, MappingProxyType
from typing import Any, Final

from conformance.provenance.rules import Origin, Skip

LONGEST_CHAIN = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Guarded:
    """One guard on one test: the variables that its wrapper closed over, the test's class and its device."""

    closure: Mapping[str, Any]
    cls: Any
    device: str

    def flag(self, name: str) -> Any:
        """A module variable of PyTorch's common_utils, as TEST_WITH_SLOW."""
        return getattr(sys.modules["torch.testing._internal.common_utils"], name)


def _only_on(seen: Guarded) -> str | None:
    wanted = seen.closure["self"].device_type
    if seen.device in wanted or getattr(seen.cls, "bypass_device_restrictions", False):
        return None
    return f"Only runs on {wanted}"


def _only_native(seen: Guarded) -> str | None:
    allowed = {*seen.flag("NATIVE_DEVICES"), *(seen.closure.get("devices") or ())}
    return None if seen.device in allowed else f"only native device types, not {seen.device}"


def _only_accelerator(seen: Guarded) -> str | None:
    return "onlyAccelerator: doesn't run on CPU or meta devices" if seen.device in ("cpu", "meta") else None


def _skip_if(seen: Guarded) -> str | None:
    rule = seen.closure["self"]
    kinds = rule.device_type
    # `in` on purpose, as the harness does: a plain string is searched for the device's name.
    here = kinds is None or kinds == seen.device or (isinstance(kinds, Iterable) and seen.device in kinds)
    holds = getattr(seen.cls, rule.dep, True) if isinstance(rule.dep, str) else rule.dep is True
    return str(rule.reason) if here and holds else None


def _device_count(seen: Guarded) -> str | None:
    wanted = seen.closure["self"].num_required_devices
    return f"fewer than {wanted} devices detected" if len(seen.cls.get_all_devices()) < wanted else None


def _slow(seen: Guarded) -> str | None:
    if seen.flag("TEST_WITH_SLOW"):
        return None
    return "test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test"


def _lazily(seen: Guarded) -> str | None:
    return str(seen.closure["reason"]) if seen.closure["condition_fn"]() else None


def _dynamo(seen: Guarded) -> str | None:
    return str(seen.closure["msg"]) if seen.flag("TEST_WITH_TORCHDYNAMO") else None


GUARDS: Final[Mapping[str, Callable[[Guarded], str | None]]] = MappingProxyType(
    {
        "onlyOn.__call__.<locals>.only_fn": _only_on,
        "onlyNativeDeviceTypes.<locals>.only_fn": _only_native,
        "onlyNativeDeviceTypesAnd.<locals>.decorator.<locals>.only_fn": _only_native,
        "onlyAccelerator.<locals>.only_fn": _only_accelerator,
        "skipIf.__call__.<locals>.dep_fn": _skip_if,
        "deviceCountAtLeast.__call__.<locals>.multi_fn": _device_count,
        "slowTest.<locals>.wrapper": _slow,
        "lazy_skip_if.<locals>.decorator.<locals>.wrapper": _lazily,
        "skipIfTorchDynamo.<locals>.decorator.<locals>.wrapper": _dynamo,
    }
)
"""Wrapper by qualified name -> the reason with which it will skip, None when it lets the test through."""

EXPECTED_FAILURE: Final = "expectedFailure.__call__.<locals>.efail_fn"
"""PyTorch's own expectedFailure: it swallows the failure, so that unittest sees a pass."""


def foreseen(cls: Any, function: Any, device: str) -> Skip | None:
    """The skip that will end this test, unless its set-up ends it first; None when nothing on it skips."""
    if getattr(cls, "__unittest_skip__", False):
        return Skip(origin=Origin.DECORATOR, reason=_why(cls))
    if getattr(function, "__unittest_skip__", False):
        return Skip(origin=decorated_by(cls, function), reason=_why(function))
    for name, closure in wrappers(function):
        guard = GUARDS.get(name)
        reason = guard(Guarded(closure=closure, cls=cls, device=device)) if guard else None
        if reason is not None:
            return Skip(origin=Origin.GATE, reason=reason, function=name)
    return None


def swallows_failure(function: Any, device: str, dtype: Any) -> bool:
    """Whether PyTorch's own expectedFailure is on this test and applies to the device and dtype."""
    for name, closure in wrappers(function):
        if name == EXPECTED_FAILURE:
            rule = closure["self"]
            if rule.device_type in (None, device) and rule.dtype in (None, dtype):
                return True
    return False


def wrappers(function: Any) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The harness' wrappers around a test, outermost first, each with what it closed over."""
    for _ in range(LONGEST_CHAIN):
        if not isinstance(function, FunctionType):
            return
        name = _known_name(function.__code__)
        if name:
            yield name, _closure(function)
        function = getattr(function, "__wrapped__", None)


@cache
def _known_name(code: Any) -> str:
    name: str = code.co_qualname
    harness = "/torch/testing/_internal/" in code.co_filename.replace("\\", "/")
    return name if harness and (name in GUARDS or name == EXPECTED_FAILURE) else ""


def _closure(function: FunctionType) -> Mapping[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the cell is still empty
            continue
    return found


def parameters(function: Any) -> Mapping[str, Any]:
    """What PyTorch's instantiation gave the test: op, dtype, device and the rest; empty for other tests."""
    for default in reversed(getattr(function, "__defaults__", None) or ()):
        if isinstance(default, dict):
            return default
    return {}


def decorated_by(cls: Any, function: Any) -> Origin:
    """Whether a decorator came from the OpInfo entry of the test's op or from the test file."""
    op = parameters(function).get("op")
    return Origin.OPINFO if op is not None and _opinfo_decorates(op, cls, function) else Origin.DECORATOR


def _opinfo_decorates(op: Any, cls: Any, function: Any) -> bool:
    given = parameters(function)
    generic = cls.__name__.removesuffix(str(getattr(cls, "device_type", "")).upper())
    try:
        active = op.get_decorators(generic, function.__name__, cls.device_type, given.get("dtype"), dict(given))
    except (AttributeError, TypeError):
        return False
    return any(getattr(each, "__name__", "") in ("expectedFailure", "decorator") for each in active)


def _why(decorated: Any) -> str:
    return str(getattr(decorated, "__unittest_skip_why__", "") or "")
