"""Exceptions become outcomes and causes, trackers become proof."""

import errno

import pytest

from conformance import codes
from conformance.classify import apply_expected, of_compiled, of_exception, of_proof
from conformance.codes import CompilerGroup
from conformance.outcomes import Attempt, Outcome, RanOn
from conformance.plan import Expected

ADD = frozenset({"aten::add"})
NONE: frozenset[str] = frozenset()


class BackendCompilerFailed(RuntimeError):  # noqa: N818 - the name is dynamo's
    """As dynamo's: the compiler's own exception is inside."""

    def __init__(self, inner_exception: Exception) -> None:
        super().__init__(f"backend='neuron' raised: {inner_exception}")
        self.inner_exception = inner_exception


def wrapped(error: Exception) -> Exception:
    """As PyTorch's @ops re-raises a failing sample."""
    try:
        raise Exception("Caused by sample input at index 3") from error
    except Exception as outer:
        return outer


def stumbled(error: Exception) -> Exception:
    """As PyTorch's comparison raises what it did not foresee."""
    try:
        raise RuntimeError("Comparing\n\nTensorLikePair(…)\n\nresulted in the unexpected exception above.") from error
    except RuntimeError as outer:
        return outer


GradcheckError = type("GradcheckError", (RuntimeError,), {"__module__": "torch.autograd.gradcheck"})
OwnGradcheckError = type("GradcheckError", (RuntimeError,), {"__module__": "mine"})


@pytest.mark.parametrize(
    ("error", "outcome", "rule"),
    [
        (stumbled(NotImplementedError("no complex numbers")), Outcome.ERROR, "refused"),
        (stumbled(wrapped(AssertionError("not close"))), Outcome.FAIL, "assertion"),
        (GradcheckError("Jacobian mismatch for output 0"), Outcome.FAIL, "assertion"),
        (wrapped(GradcheckError("Jacobian mismatch for output 0")), Outcome.FAIL, "assertion"),
        (OwnGradcheckError("boom"), Outcome.ERROR, "exception"),
        (AssertionError("Tensor-likes are not close"), Outcome.FAIL, "assertion"),
        (wrapped(AssertionError("not close")), Outcome.FAIL, "assertion"),
        (NotImplementedError("not implemented for neuron"), Outcome.ERROR, "refused"),
        (RuntimeError("boom"), Outcome.ERROR, "exception"),
        (RuntimeError("[NCC_EVRF004] complex"), Outcome.COMPILE_FAIL, "compiler-unsupported"),
        (BackendCompilerFailed(ValueError("odd")), Outcome.COMPILE_FAIL, "compiler-suspected-compiler-bug"),
        (
            BackendCompilerFailed(RuntimeError("[NCC_EOOM001] HBM")),
            Outcome.COMPILE_FAIL,
            "compiler-capacity",
        ),
        (RuntimeError("NRT_STATUS 101 EXEC_UNIT_UNRECOVERABLE"), Outcome.INFRA, "runtime-status"),
        (RuntimeError("Logical Neuron Core(s) not available (cores busy, ret=-16)"), Outcome.INFRA, "runtime-status"),
        (OSError(errno.ENOSPC, "No space left on device"), Outcome.INFRA, "disk-full"),
    ],
)
def test_an_exception_has_its_outcome_and_rule(error: Exception, outcome: Outcome, rule: str) -> None:
    verdict = of_exception(error)
    assert (verdict.outcome, verdict.rule) == (outcome, rule)


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")

    def __getattr__(self, name: str) -> object:
        raise ValueError(name)

    def __eq__(self, other: object) -> bool:
        raise ValueError("no likes")

    __hash__ = None  # type: ignore[assignment]


def test_an_exception_that_cannot_be_looked_at_is_an_error_that_says_so() -> None:
    verdict = of_exception(wrapped(SpeechlessError()))
    assert verdict.outcome is Outcome.ERROR
    assert verdict.message == "SpeechlessError: (its text cannot be had: __str__ raises ValueError)"


def test_the_real_exception_and_its_code_are_named() -> None:
    verdict = of_exception(BackendCompilerFailed(RuntimeError("[NCC_EVRF001] aten.sort")))
    assert verdict.code == "NCC_EVRF001"
    assert verdict.message == "RuntimeError: [NCC_EVRF001] aten.sort"
    assert verdict.cause == "RuntimeError: NCC_EVRF001"


def test_failures_of_one_cause_have_one_signature() -> None:
    first = of_exception(AssertionError("mismatch at [1, 2] by 0.25 in 0x7f00"))
    second = of_exception(AssertionError("mismatch at [30, 4] by 1e-3 in 0x1234"))
    other = of_exception(ValueError("mismatch at [1, 2] by 0.25 in 0x7f00"))
    assert first.cause == second.cause
    assert first.cause != other.cause


@pytest.mark.parametrize(
    ("executed", "fallback", "on_device", "computes", "outcome", "ran_on", "rule"),
    [
        (ADD, NONE, True, True, Outcome.PASS, RanOn.DEVICE, ""),
        (ADD, ADD, True, True, Outcome.FALLBACK, RanOn.MIXED, "fallback-ops"),
        (NONE, ADD, True, True, Outcome.FALLBACK, RanOn.CPU, "fallback-ops"),
        (ADD, NONE, False, True, Outcome.UNPROVEN, RanOn.MIXED, "output-off-device"),
        (NONE, NONE, True, True, Outcome.UNPROVEN, RanOn.UNKNOWN, "nothing-executed"),
        (NONE, NONE, True, False, Outcome.PASS, RanOn.NONE, ""),
    ],
)
def test_a_pass_needs_proof(
    executed: frozenset[str],
    fallback: frozenset[str],
    on_device: bool,
    computes: bool,
    outcome: Outcome,
    ran_on: RanOn,
    rule: str,
) -> None:
    proof = of_proof(
        tracks=True, executed=executed, fallback=fallback, outputs_on_device=on_device, computes=computes
    )  # fmt: skip
    assert (proof.outcome, proof.ran_on, proof.rule) == (outcome, ran_on, rule)


def test_without_a_tracker_nothing_is_proven() -> None:
    proof = of_proof(tracks=False, executed=ADD, fallback=NONE, outputs_on_device=True, computes=True)
    assert (proof.outcome, proof.rule) == (Outcome.UNPROVEN, "no-tracker")


def test_a_compiled_test_without_a_compiled_node_is_unproven() -> None:
    proof = of_proof(tracks=True, executed=ADD, fallback=NONE, outputs_on_device=True, computes=True)
    assert of_compiled(proof, 3) == proof
    assert of_compiled(proof, 0).rule == "no-compiled-node"


def test_an_expected_failure_is_strict_in_both_directions() -> None:
    foreseen = Expected(rule="opinfo-expected-failure", reason="wrong on purpose")
    failed, passed = Attempt(outcome=Outcome.FAIL, message="m"), Attempt(outcome=Outcome.PASS)
    assert apply_expected(failed, foreseen).outcome is Outcome.XFAIL
    assert apply_expected(failed, foreseen).message == "m"
    assert apply_expected(passed, foreseen).outcome is Outcome.XPASS
    assert apply_expected(passed, None) == passed
    skipped = Attempt(outcome=Outcome.SKIP_ENVIRONMENT)
    assert apply_expected(skipped, foreseen) == skipped


def test_a_compiler_code_that_is_not_documented_is_a_suspected_bug() -> None:
    assert codes.compiler_code("xx [NCC_EXYZ999] yy") == "NCC_EXYZ999"
    assert codes.compiler_group("NCC_EXYZ999") is CompilerGroup.SUSPECTED_BUG
    assert codes.compiler_group("NCC_EARG001") is CompilerGroup.CONFIGURATION
    assert codes.compiler_code("nothing here") == ""


def test_a_runtime_status_tells_the_machine_from_the_test() -> None:
    assert codes.is_infra("NRT_STATUS=1005 EXEC_NC_BUSY")
    assert not codes.is_infra("NRT_STATUS=1003 EXEC_COMPLETED_WITH_NUM_ERR")
    assert codes.runtime_status("no status") is None
