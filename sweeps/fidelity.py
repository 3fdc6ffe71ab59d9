"""Fidelity: whether a reduced model takes the same aten ops as the complete one, both on the meta device.

A difference is explained by a rule of the reduction when the complete configuration, with the sizes of that rule alone
made small, takes the ops of the reduced one. What no rule explains is listed with its reason in `data/fidelity.toml`.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import torch

from sweeps import building, configs, meta
from sweeps.architectures import Architecture
from sweeps.inputs import found
from sweeps.inputs.filling import Given, tensors
from sweeps.reduce import LADDER, WHOLE, reduce
from sweeps.reduce.roles import Role, role_of

_TABLE: Final = Path(__file__).parent / "data" / "fidelity.toml"
_RULES: Final[Mapping[str, frozenset[Role]]] = {
    "window": frozenset({Role.WINDOW}),
    "image": frozenset({Role.IMAGE}),
    "window and image": frozenset({Role.WINDOW, Role.IMAGE}),
}
"""Sizes that decide ops by themselves: a window shorter than the text, an image of another size than positions."""


class Fidelity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a comparison came to: overloads that one side alone takes, or in `why_not` why there is no comparison.

    `rule` or `reason` explains a difference; without either it is not explained.
    """

    model_type: str
    architecture: str
    level: str = ""
    common: int = 0
    lost: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    rule: str = ""
    reason: str = ""
    why_not: str = ""

    @property
    def word(self) -> str:
        """One of same, rule, listed, unexplained, not-compared."""
        if self.why_not:
            return "not-compared"
        if not self.lost and not self.added:
            return "same"
        return "rule" if self.rule else "listed" if self.reason else "unexplained"


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """Overloads that a forward takes, the modalities that it went without, and why."""

    ops: frozenset[str]
    missing: frozenset[str]
    refused: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """The complete and the reduced configuration, and what each took."""

    architecture: Architecture
    full: Mapping[str, Any]
    reduced: Mapping[str, Any]
    whole: Taken
    small: Taken


def compare(architecture: Architecture, full: Mapping[str, Any]) -> Fidelity:
    """The complete configuration beside the first level of the ladder that runs on the meta device."""
    none = Fidelity(model_type=architecture.model_type, architecture=architecture.name)
    try:
        whole = taken(architecture, reduce(full, WHOLE))
    except Exception as error:
        return msgspec.structs.replace(none, why_not=f"complete: {configs.sentence(error)}")
    refused = ""
    for level in LADDER[:-1]:
        try:
            config = configs.completed(architecture.model_type, reduce(full, level))
            small = taken(architecture, config)
        except Exception as error:
            refused = refused or f"{level.name}: {configs.sentence(error)}"
            continue
        return _compared(msgspec.structs.replace(none, level=level.name), Sides(
            architecture=architecture, full=full, reduced=config, whole=whole, small=small
        ))  # fmt: skip
    return msgspec.structs.replace(none, why_not=refused)


def _compared(made: Fidelity, sides: Sides) -> Fidelity:
    whole, small = sides.whole, sides.small
    if whole.missing != small.missing:
        which, side = ("complete", whole) if whole.missing > small.missing else (made.level, small)
        without = ", ".join(sorted(side.missing))
        return msgspec.structs.replace(made, why_not=f"{which}: without its inputs for {without}: {side.refused}")
    lost, added = whole.ops - small.ops, small.ops - whole.ops
    made = msgspec.structs.replace(
        made, common=len(whole.ops & small.ops), lost=tuple(sorted(lost)), added=tuple(sorted(added))
    )
    if not lost and not added:
        return made
    rule = next((name for name, roles in _RULES.items() if _suffices(sides, roles)), "")
    return msgspec.structs.replace(made, rule=rule, reason="" if rule else _listed(made))


def _suffices(sides: Sides, roles: frozenset[Role]) -> bool:
    """Whether the complete model with a few sizes made small takes the ops of the reduced one."""
    mixed = merged(sides.full, sides.reduced, roles)
    if mixed == sides.full:
        return False
    try:
        return taken(sides.architecture, mixed).ops == sides.small.ops
    except Exception:
        # A mixture need not be a model; it then explains nothing.
        return False


def merged(full: Mapping[str, Any], reduced: Mapping[str, Any], roles: frozenset[Role]) -> dict[str, Any]:
    """The complete configuration with the reduced one's values for fields of some roles."""
    made = dict(full)
    for name, value in full.items():
        other = reduced.get(name)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            made[name] = merged(value, other, roles)
        elif name in reduced and role_of(name) in roles:
            made[name] = other
    return made


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(_TABLE.read_text())


def _listed(made: Fidelity) -> str:
    """The reason in the table, if it stands there for these very ops."""
    entry = _table().get(made.model_type, {})
    alike = set(entry.get("lost", ())) >= set(made.lost) and set(entry.get("added", ())) >= set(made.added)
    return str(entry["reason"]) if entry and alike else ""


def taken(architecture: Architecture, config: Mapping[str, Any]) -> Taken:
    """What a forward takes, seen below autograd. Raises what the model raises."""
    with meta.entered() as mode, torch.no_grad():
        with torch.device("meta"):
            model = building.model(architecture, config, most=None)

        def run(given: Given) -> Any:
            mode.ops.clear()
            return model(**meta.given(tensors(given)))

        inputs, _ = found(model, run)
        return Taken(ops=frozenset(mode.ops), missing=inputs.missing, refused=inputs.refused)
