"""The plan of the suite `model_ops`: each distinct call of the chosen models once, and which model makes which."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from conformance import expectations
from conformance.outcomes import Outcome, TestId
from conformance.plan import MODEL_OPS, Decision, PlannedTest, Selection
from sweeps.calls import gathering, making
from sweeps.calls.making import NotMadeError
from sweeps.calls.specs import Call

KIND: Final = "call"
_LONGEST: Final = 60
"""Characters of the shapes that stand in an identity."""


def collect(selection: Selection, target: str, release: str, folder: Path) -> Iterator[PlannedTest]:
    """Every planned test of the selection; the calls are written to `folder`. Raises UsageError.

    A selection of ops names them as aten does (`addmm`); one of test files has no calls in it.
    """
    if selection.tests:
        return
    folder.mkdir(parents=True, exist_ok=True)
    if selection.calls:
        found = gathering.of_run(Path(selection.calls), folder)
    else:
        found = gathering.of_catalogue(selection, folder)
    coverage, place = expectations.load(target, release), str(folder)
    for call in sorted(found.calls.values(), key=lambda each: (each.op, each.digest)):
        test = identity(call)
        if not selection.ops or test.op in selection.ops:
            yield _planned(test, call, place, coverage)


def identity(call: Call) -> TestId:
    """The identity of a call: its op, its overload, its shapes for people, and its digest."""
    space, _, rest = call.op.partition("::")
    base, _, kind = rest.partition(".")
    parts = (shapes(call)[:_LONGEST], call.dtype, call.digest)
    return TestId(
        suite=MODEL_OPS, file=base, cls=f"{space}.{base}.{kind or 'default'}", name="_".join(filter(None, parts)),
        op=base, variant=kind, dtype=call.dtype, kind=KIND,
    )  # fmt: skip


def shapes(call: Call) -> str:
    """`2x16x64_64x64` for people; a number is `scalar`."""
    return "_".join("x".join(map(str, each["s"])) or "scalar" for each in call.tensors())


def digest_of(test: TestId) -> str:
    """The digest of the call that a planned test asks about."""
    return test.name.rpartition("_")[2]


def _planned(test: TestId, call: Call, place: str, coverage: "expectations.Coverage") -> PlannedTest:
    decided, probed = _unusable(call) or coverage.decide(test), coverage.probed(test)
    expected = None if decided or probed else coverage.expect(test)
    return PlannedTest(
        id=test, definition=making.fingerprint(call), decided=decided, expected=expected,
        probed=None if decided else probed, where=place,
    )  # fmt: skip


def _unusable(call: Call) -> Decision | None:
    """The outcome of a call that cannot be made again: nothing is asked of a device."""
    try:
        making.overload(call.op)
    except NotMadeError as error:
        return Decision(outcome=Outcome.INVALID, rule="model-ops:no-op", reason=str(error))
    if call.host:
        reason = f"{call.base} is a kernel that PyTorch picks on the CPU alone: a device is never asked for it"
        return Decision(outcome=Outcome.INVALID, rule="model-ops:cpu-kernel", reason=reason)
    if lost := call.lost():
        reason = f"{lost[0]} is no argument that is kept"
        return Decision(outcome=Outcome.INVALID, rule="model-ops:arguments", reason=reason)
    return None
