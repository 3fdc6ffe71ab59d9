"""The test classes of a file that are made for a device, read from its text: nothing of the file is run."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_CALL: Final = re.compile(r"^[ \t]*(?:\w+\.)?instantiate_device_type_tests\(", re.MULTILINE)
_CLASS: Final = re.compile(r"^class (\w+)", re.MULTILINE)
_HARDWARE: Final = re.compile(r"^    hw_classification = HardwareClassification\.(\w+)", re.MULTILINE)
_DEVICES: Final = frozenset({"cpu", "cuda", "xpu", "mps", "hpu", "lazy", "meta"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """A class given to instantiate_device_type_tests at the level of the module.

    `only_for` are the devices that it is made for, () for all; None when they are computed, so that the text does not
    tell.
    """

    name: str
    only_for: tuple[str, ...] | None = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Classes:
    """The test classes of a file. `whole` is False when a class is made in a way that the text does not tell."""

    made: tuple[Made, ...]
    others: tuple[str, ...]
    hardware: dict[str, str]
    whole: bool = True

    def for_device(self, *, custom: bool) -> tuple[str, ...]:
        """The classes to run on a device of one's own; () where the text does not tell them, or there are none.

        With `custom`, PyTorch is asked to make classes for it that are meant for several of PyTorch's own devices;
        never those that are meant for one of them alone. Where a file classifies its classes by hardware, as PyTorch
        does after 2.13, those of accelerators are taken.
        """
        if not self.whole:
            return ()
        made = [each.name for each in self.made if _is_for(each, custom)]
        told = [name for name, kind in self.hardware.items() if kind == "ACCELERATOR"]
        return tuple(dict.fromkeys(name for name in (*made, *told) if self.hardware.get(name) in (None, "ACCELERATOR")))

    def for_others(self, *, custom: bool) -> tuple[str, ...]:
        """Classes that are meant for devices of PyTorch's own alone, which need not be made for another one."""
        mine = set(self.for_device(custom=custom))
        return tuple(each.name for each in self.made if self.whole and each.name not in mine)

    def reasons(self) -> Iterator[tuple[str, str]]:
        """Every class, and what it is made for in words."""
        for each in self.made:
            kind = self.hardware.get(each.name, "")
            devices = "devices that the file computes" if each.only_for is None else ", ".join(each.only_for)
            yield each.name, kind.lower() or devices or "every device"
        for name in self.others:
            yield name, self.hardware.get(name, "").lower() or "no device"


def _is_for(made: Made, custom: bool) -> bool:
    if made.only_for is None:
        return custom
    return not made.only_for or (custom and len(made.only_for) > 1) or not _DEVICES.issuperset(made.only_for)


def read(text: str) -> Classes:
    """The classes that a test file's text tells."""
    calls = [_call(text, match.end()) for match in _CALL.finditer(text)]
    made = tuple(each for each in map(_made, calls) if each is not None)
    names = {each.name for each in made}
    unclear = any(call is None or (_of_module(call) and not isinstance(call.args[0], ast.Name)) for call in calls)
    others = tuple(name for name in _CLASS.findall(text) if name.startswith("Test") and name not in names)
    return Classes(made=made, others=others, hardware=dict(_hardware(text)), whole=not unclear)


def _call(text: str, start: int) -> ast.Call | None:
    """The call whose arguments begin at `start`, or None when it does not end."""
    depth = 1
    for end in range(start, min(len(text), start + 2_000)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return _parsed(f"f({text[start : end + 1]}")
    return None


def _parsed(text: str) -> ast.Call | None:
    try:
        found = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    return found if isinstance(found, ast.Call) and found.args else None


def _of_module(call: ast.Call) -> bool:
    return len(call.args) > 1 and ast.unparse(call.args[1]) == "globals()"


def _made(call: ast.Call | None) -> Made | None:
    if call is None or not _of_module(call) or not isinstance(call.args[0], ast.Name):
        return None
    given = {each.arg: each.value for each in call.keywords}.get("only_for")
    return Made(name=call.args[0].id, only_for=_devices(given))


def _devices(given: ast.expr | None) -> tuple[str, ...] | None:
    try:
        value = None if given is None else ast.literal_eval(given)
    except ValueError:
        return None
    return () if value is None else (value,) if isinstance(value, str) else tuple(map(str, value))


def _hardware(text: str) -> Iterator[tuple[str, str]]:
    starts = list(_CLASS.finditer(text))
    ends = [*(each.start() for each in starts[1:]), len(text)]
    for match, end in zip(starts, ends, strict=bool(starts)):
        found = _HARDWARE.search(text, match.end(), end)
        if found:
            yield match[1], found[1]
