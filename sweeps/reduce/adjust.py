"""What no rule of the reduction finds: a short table of numbers that go together in one model type."""

import tomllib
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Final

from sweeps.reduce.relations import Tree, head_size
from sweeps.reduce.widths import is_count
from sweeps.terms import at, evaluated

_TABLE: Final = Path(__file__).parents[1] / "data" / "adjusted.toml"


@cache
def _entries() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(_TABLE.read_text())


def adjust(tree: Tree) -> None:
    """Set, in place, what the table has for the tree's model type and those of its parts."""
    for value in tree.values():
        if isinstance(value, dict):
            adjust(value)
    entry = _entries().get(str(tree.get("model_type")), {})
    for path, value in entry.get("set", {}).items():
        _put(tree, path, deepcopy(value))
    for path, terms in entry.get("size", {}).items():
        _put(tree, path, evaluated(terms, lambda name: _number(tree, name)))
    for path in entry.get("sections", ()):
        _section(at(tree, path), head_size(tree))
    for path in entry.get("drop", ()):
        _put(tree, path, None)


def _section(rope: Any, size: int | None) -> None:
    """Rotary sections where the library would take its own for a wider head: the first half of it in 1 : 1.5 : 1.5."""
    if isinstance(rope, dict) and size and "mrope_section" not in rope:
        half = int(size * (rope.get("partial_rotary_factor") or 1.0)) // 2
        part = max(1, half * 3 // 8)
        rope["mrope_section"] = [half - 2 * part, part, part]


def _number(tree: Tree, path: str) -> int | None:
    node, _, name = path.rpartition(".")
    if name == "head_size":
        return head_size(at(tree, node) if node else tree)
    found = at(tree, path)
    if isinstance(found, list) and found:
        return found[-1] if is_count(found[-1]) else None
    return found if is_count(found) else None


def _put(tree: Tree, path: str, value: Any) -> None:
    """Set a value at a path; None removes it. A part that the configuration does not have is passed over."""
    above, _, name = path.rpartition(".")
    node = at(tree, above) if above else tree
    if not isinstance(node, dict):
        return
    if value is None:
        node.pop(name, None)
    else:
        node[name] = value
