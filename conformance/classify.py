"""From what was seen to a word: an exception to its outcome and cause, op trackers to proof. Imports no torch."""

import errno
import re
import traceback
from collections.abc import Set
from dataclasses import dataclass, replace

from conformance import codes
from conformance.outcomes import Attempt, Outcome, RanOn
from conformance.plan import Expected

_BACKEND_FILES = ("torch_neuronx", "conformance/simulator")


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What an exception means: outcome, rule id, one message, the normalised cause, compiler code, traceback."""

    outcome: Outcome
    rule: str
    message: str
    cause: str
    code: str = ""
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """What the trackers proved about a right result."""

    outcome: Outcome
    ran_on: RanOn
    rule: str = ""


def of_exception(error: BaseException) -> Verdict:
    """Classify an exception that a test, its set-up or the backend raised.

    The real exception is taken from under dynamo's and the test harness' wrappers. A wrong answer is an
    AssertionError; everything that the compiler raised is compile_fail; a sick machine is infra.
    """
    compiling = any(type(each).__name__ == "BackendCompilerFailed" for each in _chain(error))
    real = unwrap(error)
    text = f"{type(real).__name__}: {text_of(real)}"
    code = codes.compiler_code(text)
    outcome, rule = _outcome(real, text, compiling or bool(code))
    return Verdict(
        outcome=outcome, rule=rule, message=text.strip(), cause=cause_of(real, code), code=code,
        detail=_trace(real),
    )  # fmt: skip


_ADVICE = re.compile(r"(\n\n|\\n\\n)To execute this test, run.*?(?=['\"]?\Z)", re.DOTALL)
"""PyTorch adds to each message how to run the test, with a path of this machine; some exceptions quote their text."""


def text_of(error: BaseException) -> str:
    """An exception's text; a test may raise one whose `__str__` fails or gives no text."""
    try:
        return _ADVICE.sub("", str(error))
    except Exception as failed:
        return f"(its text cannot be had: __str__ raises {type(failed).__name__})"


def _trace(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        return "".join(traceback.format_tb(error.__traceback__)) + type(error).__name__


def _outcome(error: BaseException, text: str, compiling: bool) -> tuple[Outcome, str]:
    if codes.is_infra(text):
        return Outcome.INFRA, "runtime-status"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Outcome.INFRA, "disk-full"
    if compiling:
        group = codes.compiler_group(codes.compiler_code(text))
        return Outcome.COMPILE_FAIL, f"compiler-{group.replace(' ', '-')}"
    if isinstance(error, AssertionError) or _wrong_gradient(error):
        return Outcome.FAIL, "assertion"
    if isinstance(error, NotImplementedError):
        return Outcome.ERROR, "refused"
    return Outcome.ERROR, "exception"


def _wrong_gradient(error: BaseException) -> bool:
    """PyTorch's gradcheck raises a RuntimeError of its own where an assertion would say that gradients differ."""
    return type(error).__name__ == "GradcheckError" and type(error).__module__.startswith("torch.autograd")


def _chain(error: BaseException) -> list[BaseException]:
    """The exception and those it wraps, outermost first."""
    seen = [error]
    while (inner := _inner(seen[-1])) is not None and all(inner is not each for each in seen):
        seen.append(inner)
    return seen


def _inner(error: BaseException) -> BaseException | None:
    try:
        wrapped = getattr(error, "inner_exception", None)
    except Exception:
        return None
    if isinstance(wrapped, BaseException):
        return wrapped
    return error.__cause__ if _wraps(error) else None


def _wraps(error: BaseException) -> bool:
    """Whether PyTorch's harness raised it around the real one, its cause.

    @ops re-raises any failure as a plain Exception that names the sample, and what a comparison stumbles over comes as
    a RuntimeError that shows both sides.
    """
    return type(error) is Exception or (type(error) is RuntimeError and text_of(error).startswith("Comparing\n"))


def unwrap(error: BaseException) -> BaseException:
    """The exception under dynamo's BackendCompilerFailed and what PyTorch's harness raises around it."""
    return _chain(error)[-1]


_NOISE = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x…"),
    (re.compile(r"\[[-\d, ]*\]|\([-\d, ]*\d[-\d, ]*\)"), "[…]"),
    (re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?"), "N"),
    (re.compile(r"\s+"), " "),
)


def cause_of(error: BaseException, code: str) -> str:
    """A signature that is equal for failures of one cause: exception, compiler code or text, first backend frame."""
    first = next(iter(text_of(error).strip().splitlines()), "")
    for pattern, put in _NOISE:
        first = pattern.sub(put, first)
    return f"{type(error).__name__}: {code or first[:200]}{_backend_frame(error)}"


def _backend_frame(error: BaseException) -> str:
    for frame in traceback.extract_tb(error.__traceback__):
        if any(part in frame.filename.replace("\\", "/") for part in _BACKEND_FILES):
            return f" in {frame.filename.rsplit('/', 1)[-1]}:{frame.name}"
    return ""


def of_proof(*, tracks: bool, executed: Set[str], fallback: Set[str], outputs_on_device: bool, computes: bool) -> Proof:
    """What a right result proves. Call after `synchronize`.

    `computes` is False for tests that compute nothing: views, metadata, errors raised before dispatch.
    """
    if not tracks:
        return Proof(outcome=Outcome.UNPROVEN, ran_on=RanOn.UNKNOWN, rule="no-tracker")
    if fallback:
        where = RanOn.MIXED if executed else RanOn.CPU
        return Proof(outcome=Outcome.FALLBACK, ran_on=where, rule="fallback-ops")
    if executed and not outputs_on_device:
        return Proof(outcome=Outcome.UNPROVEN, ran_on=RanOn.MIXED, rule="output-off-device")
    if executed:
        return Proof(outcome=Outcome.PASS, ran_on=RanOn.DEVICE)
    if computes:
        return Proof(outcome=Outcome.UNPROVEN, ran_on=RanOn.UNKNOWN, rule="nothing-executed")
    return Proof(outcome=Outcome.PASS, ran_on=RanOn.NONE)


def of_compiled(proof: Proof, nodes: int) -> Proof:
    """A compiled test in which no node was compiled ran eagerly: its result says nothing about the compiler."""
    if nodes == 0 and proof.outcome in (Outcome.PASS, Outcome.FALLBACK):
        return Proof(outcome=Outcome.UNPROVEN, ran_on=proof.ran_on, rule="no-compiled-node")
    return proof


_FAILED = frozenset({Outcome.FAIL, Outcome.ERROR, Outcome.COMPILE_FAIL})
_RIGHT = frozenset({Outcome.PASS, Outcome.FALLBACK, Outcome.UNPROVEN})


def not_prepared(error: BaseException, rule: str) -> Attempt:
    """The attempt at a test that its suite could not prepare: not the device's doing, charged to this test alone."""
    found = of_exception(error)
    return Attempt(
        outcome=Outcome.ERROR, rule=rule, ran_on=RanOn.NONE, message=found.message, cause=found.cause,
        detail=found.detail,
    )  # fmt: skip


def apply_expected(attempt: Attempt, expected: Expected | None) -> Attempt:
    """Turn a foreseen failure into xfail and its absence into xpass; the rule that foresaw it is named.

    A failure of another kind than the one that is foreseen stays what it is. Deaths and time limits are for
    `conformance.settlement`: the process cannot tell of its own.
    """
    if expected is None:
        return attempt
    if attempt.outcome in _FAILED:
        return _failed(attempt, expected)
    if attempt.outcome in _RIGHT:
        return replace(attempt, outcome=Outcome.XPASS, rule=expected.rule, message=expected.reason)
    return attempt


def _failed(attempt: Attempt, expected: Expected) -> Attempt:
    other = _difference(attempt, expected)
    if other:
        return replace(attempt, message=f"{attempt.message}\nnot the failure that {expected.rule} foresees: {other}")
    return replace(attempt, outcome=Outcome.XFAIL, rule=expected.rule)


def _difference(attempt: Attempt, expected: Expected) -> str:
    """What a failure is not that it should have been; "" for the one that was foreseen."""
    if expected.outcome not in (None, attempt.outcome):
        return f"that is {expected.outcome.word}" if expected.outcome else ""
    if expected.code not in ("", attempt.code):
        return f"that has the compiler code {expected.code}"
    if expected.exception not in ("", exception_name(attempt)):
        return f"that is raised as {expected.exception}"
    return ""


def exception_name(attempt: Attempt) -> str:
    """The name of the exception that an attempt ended with, from its cause; "" when it has none."""
    name, found, _ = attempt.cause.partition(":")
    return name if found and name.isidentifier() else ""
