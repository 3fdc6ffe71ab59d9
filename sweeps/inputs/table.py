"""Inputs that no rule finds, from a table: by model type, the shape and filling of each."""

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from sweeps.inputs.filling import Filling, Given, values
from sweeps.inputs.text import tokens
from sweeps.inputs.wants import BATCH, SHOWN, Wants, first
from sweeps.terms import at, evaluated

_TABLE: Final = Path(__file__).parents[1] / "data" / "inputs.toml"
_INTEGERS: Final = frozenset({"integers", "values"})


@cache
def entries() -> Mapping[str, Mapping[str, Any]]:
    """The table by model type; its head explains the entries."""
    return tomllib.loads(_TABLE.read_text())


def _entry(wants: Wants) -> Mapping[str, Any]:
    found = entries().get(wants.model_type, {})
    return found.get(wants.class_name, found)  # type: ignore[no-any-return]


def mel_first(wants: Wants) -> bool:
    """Whether spectrograms of a model are frequencies by frames, so that this order is tried first."""
    return bool(_entry(wants).get("mel_first", False))


def add(wants: Wants, given: Given) -> None:
    """Give or replace what the table has for a model."""
    entry = _entry(wants)
    for name in entry.get("only", ()) and [each for each in given if each not in entry["only"]]:
        del given[name]
    for name, made in entry.items():
        if isinstance(made, Mapping) and not made.get("last") and _taken(wants, name, made):
            given[name] = _filling(wants, made)
    for name in entry.get("drop", ()):
        given.pop(name, None)


def last(wants: Wants, given: Given) -> Given:
    """The inputs with what must be put in after placeholders are counted, and without what is to be left out."""
    entry = _entry(wants)
    for name, made in entry.items():
        if isinstance(made, Mapping) and made.get("last") and _taken(wants, name, made):
            given[name] = _filling(wants, made, given)
    return {name: each for name, each in given.items() if name not in entry.get("drop", ())}


def _taken(wants: Wants, name: str, made: Mapping[str, Any]) -> bool:
    left_out = any(name in SHOWN.get(each, ()) for each in wants.style.without) and name not in wants.required
    return (wants.takes(name) or bool(made.get("always"))) and not left_out


def _filling(wants: Wants, made: Mapping[str, Any], given: Given | None = None) -> Filling:
    fill = made.get("fill", "normal")
    if fill == "like":
        return (given or {})[made["of"]]
    shape = tuple(size(wants, each) for each in made["shape"])
    if fill == "placed":
        return _placed(wants, shape, size(wants, made["token"]), size(wants, made["count"]))
    if fill in _PATTERNS:
        return values(_PATTERNS[fill](shape, size(wants, made.get("count", 0))), dtype="int64")
    return Filling(
        fill=fill, shape=shape, dtype=made.get("dtype", "int64" if fill in _INTEGERS else "float32"),
        low=size(wants, made.get("low", 0)), high=size(wants, made.get("high", 0)), value=made.get("value", 0.0),
        values=made.get("values", []), unstacked=made.get("unstacked", False),
    )  # fmt: skip


def _placed(wants: Wants, shape: tuple[int, ...], token: int, count: int) -> Filling:
    """Ordinary tokens with `count` placeholders from the fourth place on."""
    rows = tokens(wants, *shape, name="input_ids").values
    return values([[*row[:3], *[token] * count, *row[3 + count :]] for row in rows])


def _leading(shape: tuple[int, ...], count: int) -> list[Any]:
    """Rows in which `count` elements from the third on are one, the others zero."""
    rows, length = shape
    return [[int(2 <= at < 2 + count) for at in range(length)] for _ in range(rows)]


def _grid(shape: tuple[int, ...], _count: int) -> list[Any]:
    """Column and row of each cell of a square."""
    side = math.isqrt(shape[1])
    return [[[at % side, at // side] for at in range(shape[1])] for _ in range(shape[0])]


_PATTERNS: Final = {"leading": _leading, "grid": _grid}


def size(wants: Wants, asked: int | str) -> int:
    """A number, `B` for the batch, a field of the configuration, or terms of them. Raises KeyError."""
    return evaluated(asked, lambda name: BATCH if name == "B" else first(at(wants.config, name)))
