"""What the dispatcher of the installed torch says, asked in a process whose device is activated."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import torch

from conformance.inventory.overloads import ATEN, Overloads, Registration, Tells, base_of
from conformance.outcomes import Reached
from conformance.targets import Declares, Device

_COMPOSITE: Final = {
    "CompositeExplicitAutogradNonFunctional": Registration.COMPOSITE_EXPLICIT,
    "CompositeExplicitAutograd": Registration.COMPOSITE_EXPLICIT,
    "CompositeImplicitAutograd": Registration.COMPOSITE_IMPLICIT,
}
"""Alias keys in the order in which the dispatcher prefers them (c10, OperatorEntry::computeDispatchTableEntry)."""
_SPELLED: Final = ("torch.ops.aten.", "ops.aten.", "_refs.nn.functional.", "_refs.", "nn.functional.", "torch.")
"""How names of tests' ops begin when the aten op is what follows."""


def survey(device: Device, ops: Iterable[str]) -> Overloads:
    """Every aten overload by its registration. `ops` are the ops that planned tests name; their aten ops are looked up.

    Runs a small computation to see what the trackers tell.
    """
    key = str(_C._dispatch_key_for_device(device.device))
    names = sorted(_C._dispatch_get_all_op_names())
    spaces = Counter(name.partition("::")[0] for name in names)
    aten = [name for name in names if name.startswith(f"{ATEN}::")]
    served: dict[Registration, list[str]] = {each: [] for each in Registration}
    declared = device.declared() if isinstance(device, Declares) else {}
    for name in aten:
        served[_registration(name, key, declared)].append(name)
    del spaces[ATEN]
    return Overloads(
        torch=str(torch.__version__), device=device.device, key=key, tells=_tells(device),
        served={word: tuple(each) for word, each in served.items() if each}, left_out=dict(sorted(spaces.items())),
        named=_named(ops, {base_of(name) for name in aten}),
    )  # fmt: skip


_C: Any = torch._C


def _registration(name: str, key: str, declared: Mapping[str, Registration]) -> Registration:
    if _C._dispatch_has_kernel_for_dispatch_key(name, key):
        return declared.get(base_of(name), Registration.KERNEL)
    for alias, word in _COMPOSITE.items():
        if _C._dispatch_has_kernel_for_dispatch_key(name, alias):
            return word
    if _C._dispatch_has_kernel_for_dispatch_key(name, f"Autograd{key}"):
        return Registration.AUTOGRAD
    # A fallback to a CPU without a kernel is an error too.
    falls_back = _C._dispatch_has_backend_fallback(_C._dispatch_key_parse(key))
    on_cpu = _C._dispatch_has_computed_kernel_for_dispatch_key(name, "CPU")
    return Registration.FALLBACK if falls_back and on_cpu else Registration.NONE


def _tells(device: Device) -> Tells:
    """An addition and a sum: aten::add has no overload without a name, so that a bare `aten::add` is cut short."""
    device.clear()
    device.probe()
    seen = device.reached()
    if seen is None:
        return Tells.NOTHING
    return Tells.OVERLOADS if any(_has_overload(name) for name in _all(seen)) else Tells.NAMES


def _all(seen: Reached) -> frozenset[str]:
    return seen.executed | seen.fallback


def _has_overload(name: str) -> bool:
    """Whether `aten::add.Tensor` or `aten.add.Tensor`; the dot of `aten.add` parts the namespace."""
    space, colons, rest = name.partition("::")
    return "." in (rest if colons else space.removeprefix(f"{ATEN}."))


def _named(ops: Iterable[str], known: set[str]) -> dict[str, tuple[str, ...]]:
    wanted = sorted({each for each in ops if each})
    if not wanted:
        return {}
    # Imported late: it takes two seconds, which a run without an op need not spend.
    from torch.testing._internal.common_methods_invocations import op_db

    entries: dict[str, set[str]] = {}
    for op in op_db:
        entries.setdefault(op.name, set()).update(filter(None, (op.aten_name, op.aten_backward_name)))
    found = {op: _aten_of(op, entries.get(op, set()), known) for op in wanted}
    return {op: bases for op, bases in found.items() if bases}


def _aten_of(op: str, said: set[str], known: set[str]) -> tuple[str, ...]:
    """The aten ops behind an op: what its OpInfo says, its own name as aten would spell it, and those in place."""
    spelled = next((op.removeprefix(each) for each in _SPELLED if op.startswith(each)), op)
    bare = {each.removesuffix(".default").replace(".", "_") for each in (*said, op, spelled)}
    bases = {f"{ATEN}::{each}" for each in bare}
    return tuple(sorted((bases | {f"{each}_" for each in bases}) & known))
