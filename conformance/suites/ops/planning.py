"""The plan of the suite `ops`: every (OpInfo, dtype, kind), nothing executed."""

from collections.abc import Iterator
from typing import Any, Final

from conformance import expectations
from conformance.outcomes import TestId
from conformance.plan import Decision, Expected, PlannedTest, Selection
from conformance.suites.ops import catalogue, definitions, marks
from conformance.suites.ops.allowances import data
from conformance.suites.ops.kinds import ALL_DTYPES, KINDS, Kind, ineligible

DEFAULT_DTYPES: Final = frozenset({"float32", "bfloat16", "int64", "bool", "complex64"})
"""The dtypes of the profile `default`: one of each sort that models use."""

_DEVICE: Final = "privateuse1"
"""The device type that PyTorch's marks are asked for: none of them names it, so device-specific ones drop out."""


def collect(selection: Selection, target: str, release: str) -> Iterator[PlannedTest]:
    """Every planned test of the selection. Raises UsageError for an unknown op."""
    coverage = expectations.load(target, release)
    keys, ops = frozenset(selection.keys), catalogue.chosen(selection.ops)
    for op in ops:
        for kind in KINDS.values():
            for dtype in _dtypes(op, kind, selection.profile):
                test = _identity(op, kind, dtype)
                if not keys or test.key in keys:
                    yield _plan(test, op, kind, dtype, coverage)


def _dtypes(op: Any, kind: Kind, profile: str) -> list[Any]:
    if not kind.per_dtype:
        return [None]
    claimed = catalogue.dtypes(op)
    return claimed if profile == "full" else [each for each in claimed if catalogue.short(each) in DEFAULT_DTYPES]


def _identity(op: Any, kind: Kind, dtype: Any) -> TestId:
    name = ALL_DTYPES if dtype is None else catalogue.short(dtype)
    return TestId(
        suite="ops", file=kind.name, cls=op.full_name, name=name,
        op=op.name, variant=op.variant_test_name, dtype="" if dtype is None else name, kind=kind.name,
    )  # fmt: skip


def _plan(test: TestId, op: Any, kind: Kind, dtype: Any, coverage: Any) -> PlannedTest:
    """One line of the plan. PyTorch's own rules come first: what does not apply cannot be a gap of the backend."""
    marked = marks.gate(op) or kind.applies(op, dtype) or _ruled(test) or marks.mark(op, kind, dtype, _DEVICE)
    decided = marked if isinstance(marked, Decision) else coverage.decide(test)
    probed = None if isinstance(marked, Decision) else coverage.probed(test)
    expected = marked if isinstance(marked, Expected) else None if probed else coverage.expect(test)
    return PlannedTest(
        id=test,
        definition=definitions.definition(kind, op, test.name),
        decided=decided,
        expected=None if decided else expected,
        probed=probed,
    )


def _ruled(test: TestId) -> Decision | None:
    full_name = test.cls
    for rule in data().ineligible:
        if rule.matches(test.kind, full_name, test.dtype):
            return ineligible(rule.id, rule.reason)
    return None
