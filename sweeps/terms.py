"""Sizes in the tables of data: numbers, fields of a configuration by dotted path, sums and products of them."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_TERM: Final = re.compile(r"[*+\-/]|[A-Za-z_0-9.]+")


def evaluated(asked: int | str, named: Callable[[str], int | None]) -> int:
    """A number, or terms joined by + - * and / (rounded down), from left to right; `named` gives the value of a name.

    Raises KeyError for a name without a value.
    """
    if isinstance(asked, int):
        return asked
    total, operator = 0, "+"
    for term in _TERM.findall(asked):
        if term in "*+-/":
            operator = term
            continue
        value = int(term) if term.isdigit() else named(term)
        if value is None:
            raise KeyError(f"the configuration has no number {term!r}")
        total = {"+": total + value, "-": total - value, "*": total * value, "/": total // (value or 1)}[operator]
    return total


def at(node: Any, path: str) -> Any:
    """The value at a dotted path of mappings and objects; None where there is none."""
    for name in path.split("."):
        node = node.get(name) if isinstance(node, Mapping) else getattr(node, name, None)
    return node
