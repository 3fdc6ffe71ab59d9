"""Inputs whose size the model itself names when it refuses them: made anew, at most a few times."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec

from sweeps.inputs.filling import Filling, Given

_TRIES: Final = 4
_LAST: Final = (
    re.compile(r"mat1 and mat2 shapes cannot be multiplied \(\d+x(?P<have>\d+) and (?P<need>\d+)x\d+\)"),
    re.compile(r"same reduction dim, but got \[\d+, (?P<have>\d+)\] X \[(?P<need>\d+), \d+\]"),
    re.compile(r"normalized_shape=\[(?P<need>\d+)\].*got input of size\[.*?(?P<have>\d+)\]", re.DOTALL),
)
_CHANNELS: Final = re.compile(
    r"expected input\[(?P<shape>[\d, ]+)\] to have (?P<need>\d+) channels, but got \d+ channels"
)
_SIDE: Final = re.compile(
    r"Input (image )?(height|width|size) \(?(\d+)(\*\d+)?\)? doesn't match model \(?(?P<need>\d+)"
)


def mended(given: Given, run: Callable[[Given], Any]) -> tuple[Given, Any]:
    """Inputs that the model takes, and what it gave for them. Raises what it raised where its text names no size."""
    for _ in range(_TRIES):
        try:
            return given, run(given)
        except (RuntimeError, ValueError) as error:
            better = _better(given, str(error))
            if better is None:
                raise
            given = better
    return given, run(given)


def _better(given: Given, text: str) -> Given | None:
    for pattern in _LAST:
        if (found := pattern.search(text)) is not None:
            return _changed(given, partial(_ends_in, int(found["have"])), -1, int(found["need"]))
    if (found := _CHANNELS.search(text)) is not None:
        shape = tuple(map(int, found["shape"].split(",")))
        return _changed(given, lambda each: each.shape == shape, 1, int(found["need"]))
    if (found := _SIDE.search(text)) is not None:
        need = int(found["need"])
        higher = _changed(given, lambda each: len(each.shape) >= 4, -2, need)
        return _changed(higher or given, lambda each: len(each.shape) >= 4, -1, need)
    return None


def _ends_in(size: int, each: Filling) -> bool:
    return len(each.shape) > 1 and each.shape[-1] == size


def _changed(given: Given, fits: Callable[[Filling], bool], dimension: int, size: int) -> Given | None:
    for name, each in given.items():
        if each.fill == "normal" and fits(each):
            shape = list(each.shape)
            shape[dimension] = size
            return {**given, name: msgspec.structs.replace(each, shape=tuple(shape))}
    return None
