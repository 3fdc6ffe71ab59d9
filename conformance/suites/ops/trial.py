"""One attempt at one planned test: what a case works with, and what is seen while it does."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import torch

from conformance import codes
from conformance.outcomes import Phase, Stage
from conformance.suites.ops import computing, samples
from conformance.suites.ops.allowances import PLAIN, UNPREDICTABLE, Allowance, Compared
from conformance.suites.ops.compare import MismatchError, compare
from conformance.suites.ops.gauge import without_overflow, without_signs, without_wide_shifts
from conformance.suites.ops.moving import tensors, to_cpu
from conformance.suites.ops.samples import Call
from conformance.suites.ops.statistics import compare_distributions, compare_forms
from conformance.targets import Device
from conformance.targets.seen import Seen

Thunk = Callable[[], Any]


class ReferenceFailedError(Exception):
    """The CPU could not answer the question itself; its exception is the cause."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A call that raised: the exception in the place of a result."""

    error: Exception


@dataclass(kw_only=True, slots=True, eq=False, repr=False)
class Trial:
    """What a case is given: the op, its samples, and ways to run them on the CPU and on the device.

    `dtype` is None for kinds that are planned once an op. `only` restricts the test to one sample. `enter` is told of
    stages that are reached. `claimed` are the dtypes that the backend claims for the op. `place` are the options
    that name target and release on a command line, for messages.
    """

    key: str
    op: Any
    dtype: torch.dtype | None
    device: Device
    allowance: Allowance
    only: int | None = None
    enter: Callable[[Stage], None] = lambda _: None
    claimed: frozenset[str] = frozenset()
    place: str = ""

    stage: Stage = Stage.SETUP
    reached: set[Stage] = field(default_factory=set)
    seconds: dict[str, float] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)
    outputs_on_device: bool = True
    computes: bool = False
    made: int = 0
    compiled_nodes: int | None = None
    tried: int = 0
    note: str = ""
    sample: tuple[int, str] | None = None

    def samples(self, *, requires_grad: bool = False) -> Iterator[Call]:
        """The sample inputs of the op for the trial's dtype."""
        assert self.dtype is not None
        seed = samples.seed_of(self.key)
        return self.chosen(samples.generate(self.op, self.dtype, seed, requires_grad=requires_grad))

    def chosen(self, calls: Iterator[Call]) -> Iterator[Call]:
        """Those of `calls` that are to be run; each becomes the one that a failure is charged to."""
        while (call := self.timed(Phase.SETUP, next, calls, None)) is not None:
            self.made += 1
            if self.only is None or call.index == self.only:
                self.tried += 1
                self.sample = (call.index, call.describe())
                yield call
                self.sample = None

    def move(self, call: Call) -> Call:
        """A copy of the sample on the device, before anything is tracked."""
        where, allowed = self.device.device, self.allowance
        moved: Call = self.timed(Phase.SETUP, lambda: call.moved(where, factory=allowed.factory, host=allowed.host))
        return moved

    def timed(self, phase: Phase, work: Callable[..., Any], *given: Any) -> Any:
        """Do the work with what is given for it, and add its time to the phase."""
        start = perf_counter()
        try:
            return work(*given)
        finally:
            self.spend(phase, perf_counter() - start)

    def spend(self, phase: Phase, seconds: float) -> None:
        """Add time to a phase."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    def reach(self, stage: Stage) -> None:
        """Go on to a stage. The journal is told of its first time; of every time where compiling has its own limit."""
        if stage is not self.stage:
            self.stage = stage
            if stage not in self.reached or self.compiled_nodes is not None:
                self.reached.add(stage)
                self.enter(stage)

    def reference(self, call: Thunk) -> Any:
        """The CPU's answer. Raises ReferenceFailedError when there is none."""
        try:
            return self.timed(Phase.COMPARE, call)
        except Exception as error:
            raise ReferenceFailedError(f"the CPU reference fails: {type(error).__name__}: {error}") from error

    def on_device(self, call: Thunk, stage: Stage = Stage.EXECUTE, phase: Phase = Phase.EXECUTE) -> Any:
        """The device's answer, all queued work done, with the ops that it took added to what was seen."""
        self.reach(stage)
        self.device.clear()
        try:
            return self.timed(phase, self._run, call)
        finally:
            with suppress(Exception):
                self.seen.read(self.device)

    def _run(self, call: Thunk) -> Any:
        result = call()
        self.device.synchronize()
        return result

    def same(self, call: Call, reference: Thunk, on_device: Thunk) -> None:
        """Run both and compare. Raises MismatchError, ReferenceFailedError or what the device raised."""
        want = self.reference(reference)
        self.compare(self.on_device(on_device), want, call)
        self.see_computing(call, self.op)

    def see_computing(self, call: Call, op: Callable[..., Any]) -> None:
        """When nothing was seen to execute, find out on the CPU whether anything was due."""
        if not self.seen.executed and not self.seen.fallback and not self.computes:
            copy = call.moved("cpu")
            self.computes = computing.computes(lambda: copy.on(op))

    def compare(self, got: Any, want: Any, call: Call | None = None) -> None:
        """Raise MismatchError unless the device's answer is the CPU's, compared as the op and the sample allow."""
        self.reach(Stage.COMPARE)
        if self.outputs_on_device and {each.device.type for each in tensors(got)} - {self.device.device}:
            self.outputs_on_device = False
        self.timed(Phase.COMPARE, self._compare, got, want, call)

    def _compare(self, got: Any, want: Any, call: Call | None) -> None:
        special = self.allowance.of(call)
        if special is PLAIN:
            compare(to_cpu(got), to_cpu(want), self.allowance.tolerances)
            return
        if special.compared in UNPREDICTABLE:
            # On the tensors themselves: a copy to the CPU may have other strides.
            compare_forms(got, want)
        got, want = to_cpu(got), to_cpu(want)
        if special.compared is Compared.DISTRIBUTION:
            compare_distributions(got, want, special.cluster)
        elif special.compared is not Compared.FORM:
            process = self.process(call)
            compare(process(got), process(want), self.allowance.tolerances)

    def process(self, call: Call | None) -> Callable[[Any], Any]:
        """What takes a result to the part of it that is defined."""
        match self.allowance.of(call).compared:
            case Compared.SIGNS:
                return without_signs
            case Compared.FITTING if call is not None:
                return without_overflow(call)
            case Compared.SHIFTS if call is not None:
                return without_wide_shifts(call)
            case Compared.PROCESSED if call is not None and call.process is not None:
                return call.process
            case _:
                return unchanged

    def differentiated(self, call: Call) -> Callable[[Any], Any]:
        """What takes a result to the part of it that has a defined gradient, however it is compared."""
        if self.allowance.of(call).compared is Compared.SIGNS:
            return without_signs
        return call.process or unchanged

    def compare_gradients(self, got: Any, want: Any, call: Call) -> None:
        """Raise MismatchError unless the gradients are the CPU's; of a random op, unless they have the same form."""
        self.reach(Stage.COMPARE)
        if self.allowance.of(call).compared in UNPREDICTABLE:
            compare_forms(to_cpu(got), to_cpu(want))
        else:
            self.timed(Phase.COMPARE, lambda: compare(to_cpu(got), to_cpu(want), self.allowance.tolerances, "gradient"))

    def alike(self, reference: Thunk, on_device: Thunk) -> tuple[Any, Any] | None:
        """Run a call that the CPU may refuse; None when both refuse it.

        Raises MismatchError when the CPU refuses and the device does not, or what the device alone raised.
        """
        want = self.timed(Phase.COMPARE, attempted, reference)
        if not isinstance(want, Refused):
            return self.on_device(on_device), want
        got = self.on_device(lambda: attempted(on_device))
        if not isinstance(got, Refused):
            raise MismatchError(f"no error where the CPU raises {type(want.error).__name__}\n{first_line(want.error)}")
        if codes.is_infra(str(got.error)):
            raise got.error
        return None


def unchanged(result: Any) -> Any:
    """A result of which all is defined."""
    return result


def attempted(call: Thunk) -> Any:
    """The result of a call, or the exception that it raised."""
    try:
        return call()
    except Exception as error:
        return Refused(error=error)


def first_line(error: BaseException) -> str:
    """The first line of an exception's text, cut to what a message can hold."""
    return next(iter(str(error).splitlines()), "")[:200]
