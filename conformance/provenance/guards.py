"""Skips that can be told before a test runs: its decorators, read without calling anything that skips.

PyTorch's device guards wrap the test one in another; each wrapper is known by the qualified name of its code, and what
it compares by its closure. The names are those of torch.testing._internal in torch 2.13; a guard that is not in the
table is not foreseen, and its skip is explained by the frame that raises it.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import FunctionType, MappingProxyType
from typing import Any, Final

from conformance.outcomes import Source
from conformance.plan import Expected
from conformance.provenance import entries
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

SWALLOWED: Final = "upstream:expected-failure-swallowed"
"""Rule of tests whose failure PyTorch's own expectedFailure swallows."""

EXPECTED_FAILURE: Final = "expectedFailure.__call__.<locals>.efail_fn"
"""PyTorch's own expectedFailure: it swallows the failure, so that unittest sees a pass."""


MADE: Final = "made"
"""Stands for the wrapper around a test that was made for an OpInfo, ModuleInfo or OptimizerInfo."""
_MAKER: Final = "._parametrize_test.<locals>.test_wrapper"


def foreseen(cls: Any, function: Any, device: str) -> Skip | None:
    """The skip that will end this test, unless its set-up ends it first; None when nothing on it skips."""
    if (on_class := class_skip(cls)) is not None:
        return on_class
    if getattr(function, "__unittest_skip__", False):
        return decorated(cls, function, _why(function))
    for name, closure in wrappers(function):
        guard = GUARDS.get(name)
        reason = guard(Guarded(closure=closure, cls=cls, device=device)) if guard else None
        if reason is not None:
            return applied(Skip(origin=Origin.GATE, reason=reason, function=name), function)
    return None


def class_skip(cls: Any) -> Skip | None:
    """The skip of a decorator on the whole class; None when there is none."""
    if not getattr(cls, "__unittest_skip__", False):
        return None
    return Skip(origin=Origin.DECORATOR, reason=_why(cls), entry="skip, on the class")


def applied(skip: Skip, function: Any) -> Skip:
    """A skip that one of the guards here raised is placed where the guard was put on the test, not in the harness.

    The test's own entry puts its guards around what PyTorch's @ops and its kin make of the test.
    """
    if skip.origin is not Origin.GATE or skip.function not in GUARDS:
        return skip
    if _outside(function, skip.function) and (entry := entries.guard_of(function, skip.function)) is not None:
        return replace(skip, entry=entry.text, where=entry.where)
    return replace(skip, where=entries.place_of(function))


def _outside(function: Any, guard: str) -> bool:
    """Whether a guard is around the test that was made for an entry, not on the test in the file."""
    for name, _ in wrappers(function):
        if name in (guard, MADE):
            return name == guard and any(each == MADE for each, _ in wrappers(function))
    return False


def decorated(cls: Any, function: Any, reason: str) -> Skip:
    """The skip of a decorator of unittest: that of the test's own OpInfo entry, or one in the test file."""
    entry = entries.entry_of(cls, function, entries.SKIP, reason)
    if entry is not None:
        return Skip(origin=Origin.OPINFO, reason=reason, entry=entry.text, where=entry.where)
    return Skip(origin=Origin.DECORATOR, reason=reason, entry=entries.SKIP, where=entries.place_of(function))


def foreseen_failure(cls: Any, function: Any, device: str) -> Expected | None:
    """The failure that upstream's decorators foresee: an OpInfo entry's, the test file's, or PyTorch's own kind."""
    if getattr(cls, "__unittest_expecting_failure__", False):
        text = f"{entries.EXPECTED_FAILURE}, on the class"
        return Expected(rule="upstream:expected-failure", source=Source(who=Origin.DECORATOR, code=text))
    if getattr(function, "__unittest_expecting_failure__", False):
        entry = entries.entry_of(cls, function, entries.EXPECTED_FAILURE)
        if entry is not None:
            source = Source(who=Origin.OPINFO, code=entry.text, where=entry.where)
            return Expected(rule="upstream:opinfo-expected-failure", source=source)
        source = Source(who=Origin.DECORATOR, code=entries.EXPECTED_FAILURE, where=entries.place_of(function))
        return Expected(rule="upstream:expected-failure", source=source)
    if swallows_failure(function, device, entries.parameters(function).get("dtype")):
        source = Source(who=Origin.GATE, code=EXPECTED_FAILURE, where=entries.place_of(function))
        return Expected(rule=SWALLOWED, source=source)
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
    """The harness' wrappers around a test, outermost first, each with what it closed over; MADE for an entry's own."""
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
    if harness and name.endswith(_MAKER):
        return MADE
    return name if harness and (name in GUARDS or name == EXPECTED_FAILURE) else ""


def _closure(function: FunctionType) -> Mapping[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the cell is still empty
            continue
    return found


def _why(decorated: Any) -> str:
    return str(getattr(decorated, "__unittest_skip_why__", "") or "")
