"""The rules that explain skips, as data: the first that matches names the outcome. `tests/provenance` lints them."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from conformance.outcomes import Outcome


class Origin(StrEnum):
    """Who skipped, told by the frame that raised or by the attribute that was set: never by the text alone."""

    DECORATOR = "decorator"
    """`unittest.skip` and its kin on the class or the function."""
    OPINFO = "opinfo"
    """A decorator that an OpInfo entry put on its own test."""
    GATE = "gate"
    """A guard of PyTorch's test harness, torch.testing._internal."""
    BODY = "body"
    """The test itself, its set-up, or a module beside it."""
    MARKER = "marker"
    """A pytest marker."""
    MODULE = "module"
    """The file, while it was imported: none of its tests is known."""
    BACKEND = "backend"
    """The backend, or this plugin for it."""
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, kw_only=True, slots=True)
class Skip:
    """One skip as it was seen. `function` is the qualified name of the code that raised.

    `turned` names the type of the exception that was caught and turned into the skip, "" when there was none.
    """

    origin: Origin
    reason: str
    function: str = ""
    turned: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One rule: it matches when every condition that it has holds. `why` is shown beside its id."""

    id: str
    outcome: Outcome
    why: str
    origins: frozenset[Origin] = frozenset(Origin)
    function: str = ""
    reason: str = ""
    turned: frozenset[str] = frozenset()

    def matches(self, skip: Skip) -> bool:
        """Whether this rule explains the skip."""
        return (
            skip.origin in self.origins
            and (not self.function or re.match(self.function, skip.function) is not None)
            and (not self.reason or re.search(self.reason, skip.reason, re.IGNORECASE) is not None)
            and (not self.turned or skip.turned in self.turned)
        )


_ENVIRONMENT = Outcome.SKIP_ENVIRONMENT
_DEVICE_GATES = r"onlyOn\.|onlyNativeDeviceTypes|onlyAccelerator\.|onlyCUDAAndPRIVATEUSE1\.|runOnRocm|skipIfMPS\."
_GATE = frozenset({Origin.GATE})
_TEXTS = frozenset({Origin.DECORATOR, Origin.OPINFO, Origin.GATE, Origin.BODY, Origin.MARKER, Origin.MODULE})

_OTHER_DEVICE = r"\b(cuda|cudnn|cusparse|cusolver|nccl|rocm|hip|miopen|xpu|mps|metal|hpu|tpu|xla|mtia|gpus?|sm_?\d\d)\b"
_LIBRARY = (
    r"(not|isn't) (be )?(found|installed|importable|imported|built|compiled)\b|could not import|no module named"
    r"|\b(no|without|missing|needs?|requires?|requiring|require)\b.{0,40}\b(scipy|numpy|dill|mkl|mkldnn|onednn|lapack"
    r"|magma|fft|numba|librosa|opencv|onnx|triton|networkx|psutil|hypothesis|fbgemm|qnnpack|xnnpack|tensorboard"
    r"|protobuf|sympy|pil|pillow|torchvision|torchaudio|pandas|z3|cython|ninja|compiler|package|library)\b"
    r"|\b(scipy|numpy|mkl|lapack|triton|torchvision|distributed)\b.{0,30}\bnot available"
)
_PLATFORM = (
    r"\b(windows|macos|darwin|linux|arm64|aarch64|x86|s390x|ppc64le|python ?3|py3\d*|free-threaded|sandcastle)\b"
    r"|\b(asan|tsan|ubsan)\b"
)


def _gate(name: str, outcome: Outcome, function: str, why: str, reason: str = "") -> Rule:
    return Rule(id=f"upstream:{name}", outcome=outcome, origins=_GATE, function=function, reason=reason, why=why)


def _text(name: str, outcome: Outcome, reason: str, why: str) -> Rule:
    return Rule(id=f"upstream:{name}", outcome=outcome, origins=_TEXTS, reason=reason, why=why)


def _rest(origin: Origin, name: str, why: str) -> Rule:
    return Rule(id=f"upstream:{name}", outcome=Outcome.SKIP_ELIGIBILITY, origins=frozenset({origin}), why=why)


RULES: Final = (
    Rule(
        id="backend:not-implemented", outcome=Outcome.SKIP_COVERAGE, origins=_GATE, function="skip_exception_type",
        why="NotImplementedError of the backend, which PyTorch's harness turns into a skip",
    ),
    _gate("slow", _ENVIRONMENT, r"slowTest\.|check_if_enable", "slow tests are off", r"^test is (slow|fast)"),
    _gate("disabled-list", _ENVIRONMENT, "check_if_enable", "PyTorch's list of disabled tests"),
    _gate("device-count", _ENVIRONMENT, r"deviceCountAtLeast\.", "more devices than this machine has"),
    _gate("memory", _ENVIRONMENT, r"largeTensorTest\.|_has_sufficient_memory", "more memory than is free"),
    _gate("mode", _ENVIRONMENT, r"skipIfTorchDynamo\.|skipIfTorchInductor\.|skipIfLegacyJit", "a mode of the harness"),
    _gate("mode", _ENVIRONMENT, r"lazy_skip_if\.", "a mode of the harness", "under pytest"),
    _gate("other-device", Outcome.SKIP_ELIGIBILITY, r"lazy_skip_if\.", "for another device", "rocm|xpu|hpu|cuda"),
    _gate("library", _ENVIRONMENT, r"lazy_skip_if\.", "a library or a feature of the build is missing"),
    _gate("network", _ENVIRONMENT, r"download_file|retry", "the network, or the last of several tries"),
    _gate("device-gate", Outcome.SKIP_ELIGIBILITY, _DEVICE_GATES, "the test is for other kinds of device"),
    Rule(
        id="upstream:library", outcome=_ENVIRONMENT, origins=_TEXTS, why="a library is missing",
        turned=frozenset({"ImportError", "ModuleNotFoundError"}),
    ),
    Rule(
        id="backend:exception-to-skip", outcome=Outcome.SKIP_COVERAGE, origins=frozenset({Origin.BODY, Origin.GATE}),
        turned=frozenset({"NotImplementedError", "RuntimeError", "BackendCompilerFailed", "TypeError", "ValueError"}),
        why="an exception that the test or the harness caught and turned into a skip",
    ),
    Rule(
        id="backend:skip", outcome=Outcome.SKIP_COVERAGE, origins=frozenset({Origin.BACKEND}),
        why="skipped by the backend itself",
    ),
    _text("device-count", _ENVIRONMENT, r"(fewer than|at least|multiple|needs?) \w* ?devices", "too few devices"),
    _text("other-device", Outcome.SKIP_ELIGIBILITY, _OTHER_DEVICE, "the test is for another kind of device"),
    _text("library", _ENVIRONMENT, _LIBRARY, "a library or a feature of the build is missing"),
    _text("slow", _ENVIRONMENT, r"\b(too )?slow\b", "slow tests are off"),
    _text("memory", _ENVIRONMENT, r"(insufficient|not enough|out of|too much) .*memory", "too little memory"),
    _text("platform", _ENVIRONMENT, _PLATFORM, "not on this platform, Python or build"),
    _rest(Origin.OPINFO, "opinfo", "the OpInfo entry skips this test of its own op"),
    _rest(Origin.DECORATOR, "decorator", "a skip decorator in the test file"),
    _rest(Origin.MARKER, "marker", "a pytest marker in the test file"),
    _rest(Origin.GATE, "gate", "a rule of PyTorch's test harness"),
    _rest(Origin.BODY, "test-body", "the test itself says that it does not apply"),
    _rest(Origin.MODULE, "module", "the whole file says that it does not apply"),
)  # fmt: skip
"""First match wins. Machine gates stand before texts: a device gate may name any library in its text."""

NO_RULE: Final = "no-rule"


def explain(skip: Skip, rules: tuple[Rule, ...] = RULES) -> tuple[Outcome, str]:
    """The outcome and the rule id of a skip; skip_unclassified where no rule explains it."""
    for each in rules:
        if each.matches(skip):
            return each.outcome, each.id
    return Outcome.SKIP_UNCLASSIFIED, NO_RULE
