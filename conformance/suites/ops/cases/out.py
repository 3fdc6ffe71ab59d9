"""out=: results written to tensors that are given, whose shape, layout, size or dtype fits more or less."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from conformance.suites.ops.cases.inplace import memory
from conformance.suites.ops.cases.layouts import column_major
from conformance.suites.ops.compare import MismatchError
from conformance.suites.ops.moving import Mover, rebuild, tensors
from conformance.suites.ops.samples import Call
from conformance.suites.ops.trial import Refused, Trial, attempted


def _filled(result: Tensor) -> Tensor:
    """Right shape and dtype, holding ones: a value that is left where it was shows."""
    return torch.ones_like(result, memory_format=torch.contiguous_format)


def _other_layout(result: Tensor) -> Tensor:
    """Right shape and dtype, the last two dimensions swapped in memory: the strides must stay."""
    return column_major(_filled(result))


def _empty(result: Tensor) -> Tensor:
    """No elements: the op must resize it."""
    return result.new_empty(0)


def _other_dtype(result: Tensor) -> Tensor:
    """A dtype that results of this one must not be cast to; the CPU tells whether that is refused."""
    wrong = torch.int32 if result.dtype.is_floating_point or result.dtype.is_complex else torch.bool
    return torch.ones_like(result, dtype=wrong, memory_format=torch.contiguous_format)


MANNERS: Final[Mapping[str, Callable[[Tensor], Tensor]]] = {
    "right": _filled,
    "other layout": _other_layout,
    "empty": _empty,
    "other dtype": _other_dtype,
}
"""The ways in which tensors are given for out=."""


def run(trial: Trial) -> None:
    """Raise unless each sample does with each manner of out= what it does on the CPU, a refusal included."""
    for call in trial.samples():
        result = attempted(lambda: call.on(trial.op))  # noqa: B023  # called at once
        if isinstance(result, Refused) or not all(map(_writable, _leaves(result))):
            trial.tried -= 1
            continue
        for manner, make in MANNERS.items():
            _try(trial, call, result, manner, make)


def _leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]


def _writable(value: Any) -> bool:
    """Whether something can be given for it as out=: sparse results have no memory to keep or to resize."""
    return isinstance(value, Tensor) and value.layout is torch.strided


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One call with out= and what was given for it."""

    call: Call
    op: Any
    out: Any
    before: tuple[int, ...]

    def run(self) -> Any:
        """Call the op with the given tensors as out=."""
        return self.call.on(self.op, out=self.out)

    def kept(self) -> tuple[bool, ...]:
        """Which of the given tensors still have their memory."""
        return tuple(memory(each) == before for each, before in zip(tensors(self.out), self.before, strict=True))

    def returned(self, result: Any) -> list[bool]:
        """Which of the returned tensors are those that were given."""
        given = {id(each) for each in tensors(self.out)}
        return [id(each) in given for each in tensors(result)]

    def strides(self) -> list[tuple[int, ...]]:
        """The strides of the given tensors."""
        return [tuple(each.stride()) for each in tensors(self.out)]


def _side(call: Call, op: Any, out: Any) -> Side:
    return Side(call=call, op=op, out=out, before=tuple(memory(each) for each in tensors(out)))


def _try(trial: Trial, call: Call, result: Any, manner: str, make: Callable[[Tensor], Tensor]) -> None:
    given = rebuild(tuple(result) if isinstance(result, list | tuple) else result, make)
    device = _side(trial.move(call), trial.op, Mover(device=trial.device.device)(given))
    reference = _side(call, trial.op, given)
    trial.note = f"out= of {manner}"
    both = trial.alike(reference.run, device.run)
    if both is not None:
        _check(trial, device, reference)
        if device.returned(both[0]) != reference.returned(both[1]):
            raise MismatchError("what is returned is not the out= that was given")
    trial.note = ""


def _check(trial: Trial, device: Side, reference: Side) -> None:
    trial.compare(device.out, reference.out, reference.call)
    for number, (one, other) in enumerate(zip(device.kept(), reference.kept(), strict=True)):
        if other and not one:
            raise MismatchError(f"out[{number}] was moved to other memory")
    if all(reference.kept()) and device.strides() != reference.strides():
        raise MismatchError(
            f"strides of out= differ from the CPU's\n{device.strides()} instead of {reference.strides()}"
        )
