"""Inputs that no rule finds, from a table: by model type, the shape and filling of each."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from sweeps.inputs.filling import Filling, Given
from sweeps.inputs.wants import BATCH, Wants, first

_TABLE: Final = Path(__file__).parents[1] / "data" / "inputs.toml"
_INTEGERS: Final = frozenset({"integers", "values"})
_TERM: Final = re.compile(r"[*+\-/]|[A-Za-z_0-9.]+")


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


def last(wants: Wants, given: Given) -> Given:
    """The inputs with what must be put in after placeholders are counted, and without what is to be left out."""
    entry = _entry(wants)
    for name, made in entry.items():
        if isinstance(made, Mapping) and made.get("last") and _taken(wants, name, made):
            given[name] = _filling(wants, made, given)
    return {name: each for name, each in given.items() if name not in entry.get("drop", ())}


def _taken(wants: Wants, name: str, made: Mapping[str, Any]) -> bool:
    return wants.takes(name) or bool(made.get("always"))


def _filling(wants: Wants, made: Mapping[str, Any], given: Given | None = None) -> Filling:
    fill = made.get("fill", "normal")
    if fill == "like":
        return (given or {})[made["of"]]
    shape = tuple(size(wants, each) for each in made["shape"])
    return Filling(
        fill=fill, shape=shape, dtype=made.get("dtype", "int64" if fill in _INTEGERS else "float32"),
        low=size(wants, made.get("low", 0)), high=size(wants, made.get("high", 0)), value=made.get("value", 0.0),
        values=made.get("values", []), unstacked=made.get("unstacked", False),
    )  # fmt: skip


def size(wants: Wants, asked: int | str) -> int:
    """A number, `B` for the batch, a field of the configuration as a dotted path, or a sum or product of them.

    Evaluated from left to right. Raises KeyError for a field that the configuration does not have.
    """
    if isinstance(asked, int):
        return asked
    total, operator = 0, "+"
    for term in _TERM.findall(asked):
        if term in "*+-/":
            operator = term
            continue
        value = _value(wants, term)
        total = {"+": total + value, "-": total - value, "*": total * value, "/": total // (value or 1)}[operator]
    return total


def _value(wants: Wants, term: str) -> int:
    if term.isdigit():
        return int(term)
    if term == "B":
        return BATCH
    node = wants.config
    for name in term.split("."):
        node = node.get(name) if isinstance(node, Mapping) else getattr(node, name, None)
    found = first(node)
    if found is None:
        raise KeyError(f"the configuration of {wants.model_type} has no number {term!r}")
    return found
