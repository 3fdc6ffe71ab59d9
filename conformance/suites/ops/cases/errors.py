"""Error inputs: what PyTorch promises to refuse is refused, with the promised exception and text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from conformance import codes
from conformance.outcomes import Phase
from conformance.suites.ops import samples
from conformance.suites.ops.compare import MismatchError
from conformance.suites.ops.samples import Call
from conformance.suites.ops.trial import ReferenceFailedError, Refused, Trial, attempted, first_line


@dataclass(frozen=True, kw_only=True, slots=True)
class Promise:
    """A call that must raise `kind` (one type or several) with a text that matches `pattern`."""

    call: Call
    kind: Any
    pattern: str

    def kept(self, error: Exception) -> bool:
        """Whether this is the promised exception."""
        return isinstance(error, self.kind) and re.search(self.pattern, str(error)) is not None


def run(trial: Trial) -> None:
    """Raise unless every error input is refused on the device as promised.

    The inputs are made once for the CPU and once for the device, since texts and arguments may name it. An input that
    the CPU does not refuse as promised makes the test invalid.
    """
    promises = trial.timed(Phase.SETUP, lambda: list(_promises(trial, trial.device.device)))
    references = trial.timed(Phase.SETUP, lambda: list(_promises(trial, "cpu")))
    for call in trial.chosen(iter([each.call for each in promises])):
        if call.index < len(references):
            # Inputs beyond are made for devices only, as tensors on two devices are.
            _need_reference(trial, references[call.index])
        _judge(trial.on_device(lambda: attempted(lambda: call.on(trial.op))), promises[call.index])  # noqa: B023


def _promises(trial: Trial, device: str) -> Iterator[Promise]:
    samples.seed_all(samples.seed_of(trial.key))
    for index, each in enumerate(trial.op.error_inputs_func(trial.op, device)):
        yield Promise(
            call=samples.of_sample(index, each.sample_input), kind=each.error_type, pattern=str(each.error_regex)
        )


def _need_reference(trial: Trial, promise: Promise) -> None:
    got = trial.timed(Phase.COMPARE, lambda: attempted(lambda: promise.call.on(trial.op)))
    if not isinstance(got, Refused):
        raise ReferenceFailedError(f"the CPU raises no error where {_names(promise.kind)} is promised")
    if not promise.kept(got.error):
        raise ReferenceFailedError(
            f"the CPU raises another error than the promised {_names(promise.kind)}: {first_line(got.error)}"
        ) from got.error


def _judge(got: Any, promise: Promise) -> None:
    if not isinstance(got, Refused):
        raise MismatchError(f"no error where {_names(promise.kind)} is promised")
    if promise.kept(got.error):
        return
    if codes.is_infra(str(got.error)) or isinstance(got.error, NotImplementedError):
        raise got.error
    raise MismatchError(
        f"another error than the promised {_names(promise.kind)}\n{type(got.error).__name__}: {first_line(got.error)} "
        f"does not match {promise.pattern[:200]!r}"
    ) from got.error


def _names(kind: Any) -> str:
    return " or ".join(each.__name__ for each in kind) if isinstance(kind, tuple) else str(kind.__name__)
