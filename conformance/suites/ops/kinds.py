"""The kinds of the suite `ops`: what is asked of each OpInfo, and the skips that PyTorch's own rules call for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.outcomes import Outcome
from conformance.plan import Decision

Case = Callable[[Any], None]
"""Runs a Trial; raises unless the device is right."""

ALL_DTYPES: Final = "all"
"""Stands for the dtype in the identity of a test that is planned once an op."""

Applies = Callable[[Any, Any], Decision | None]
"""Takes an OpInfo and a torch.dtype (None when once an op); gives the skip when the kind does not apply."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """One question. `case` is where its function is; `upstream` the class and test of PyTorch that asks the same.

    `honours` says whether PyTorch's marks for that test (skips, expected failures) hold for ours too.
    """

    name: str
    asks: str
    case: str
    upstream: tuple[str, str]
    honours: bool = False
    per_dtype: bool = True
    applies: Applies = lambda _op, _dtype: None


def ineligible(rule: str, reason: str) -> Decision:
    """A skip by PyTorch's own rules."""
    return Decision(outcome=Outcome.SKIP_ELIGIBILITY, rule=f"ops:{rule}", reason=reason)


def _has_out(op: Any, _dtype: Any) -> Decision | None:
    return None if op.supports_out else ineligible("no-out", "the op has no out=")


def _has_inplace(op: Any, _dtype: Any) -> Decision | None:
    return None if op.inplace_variant else ineligible("no-inplace", "the op has no in-place variant")


def _has_backward(op: Any, dtype: Any) -> Decision | None:
    if not op.supports_autograd:
        return ineligible("no-autograd", "the op is not differentiable")
    if dtype not in op.supported_backward_dtypes("cpu"):
        return ineligible("no-autograd-dtype", f"the op has no backward for {str(dtype).removeprefix('torch.')}")
    return None


def _has_error_inputs(op: Any, _dtype: Any) -> Decision | None:
    return None if op.error_inputs_func else ineligible("no-error-inputs", "PyTorch promises no error for the op")


_CASES = "conformance.suites.ops.cases"

KINDS: Final[Mapping[str, Kind]] = {
    each.name: each
    for each in (
        Kind(
            name="forward", case=f"{_CASES}.forward:run", upstream=("TestCommon", "test_compare_cpu"),
            asks="all sample inputs give the CPU's result",
        ),
        Kind(
            name="noncontiguous", case=f"{_CASES}.layouts:noncontiguous",
            upstream=("TestCommon", "test_noncontiguous_samples"),
            asks="the same with the elements of every tensor spread over memory",
        ),
        Kind(
            name="transposed", case=f"{_CASES}.layouts:transposed",
            upstream=("TestCommon", "test_noncontiguous_samples"),
            asks="the same with the last two dimensions of every tensor swapped in memory",
        ),
        Kind(
            name="out", case=f"{_CASES}.out:run", upstream=("TestCommon", "test_out"), applies=_has_out,
            asks="out= is filled, kept, resized or refused as on the CPU",
        ),
        Kind(
            name="inplace", case=f"{_CASES}.inplace:run", upstream=("TestCommon", "test_variant_consistency_eager"),
            applies=_has_inplace, asks="the in-place variant changes its input as on the CPU",
        ),
        Kind(
            name="backward", case=f"{_CASES}.backward:run", upstream=("TestBwdGradients", "test_fn_grad"),
            applies=_has_backward, asks="gradients of every input are the CPU's",
        ),
        Kind(
            name="error_inputs", case=f"{_CASES}.errors:run", upstream=("TestCommon", "test_errors"), honours=True,
            per_dtype=False, applies=_has_error_inputs, asks="promised errors are raised with the promised text",
        ),
        Kind(
            name="dtypes", case=f"{_CASES}.dtypes:run", upstream=("TestCommon", "test_dtypes"), per_dtype=False,
            asks="every claimed dtype works",
        ),
        Kind(
            name="compiled", case=f"{_CASES}.compiled:run", upstream=("TestCommon", "test_compare_cpu"),
            asks="the first samples give the CPU's result under torch.compile",
        ),
    )
}  # fmt: skip
"""Every kind by name, in the order of the plan."""
