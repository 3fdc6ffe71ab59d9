"""Numbers that JSON does not have, written as transformers writes them: {"__float__": "Infinity"}."""

import math
from collections.abc import Mapping
from typing import Any, Final

MARK: Final = "__float__"


def encoded(value: Any) -> Any:
    """The nested value with infinities and NaN in their written form."""
    if isinstance(value, Mapping):
        return {key: encoded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {MARK: "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    return value


def decoded(value: Any) -> Any:
    """The nested value with written forms turned back into numbers."""
    if isinstance(value, Mapping):
        number = _number(value)
        return {key: decoded(each) for key, each in value.items()} if number is None else number
    return [decoded(each) for each in value] if isinstance(value, list) else value


def _number(value: Mapping[str, Any]) -> float | None:
    """The number that a mapping stands for; None for any other mapping."""
    text = value.get(MARK) if len(value) == 1 else None
    return float(text) if isinstance(text, str) and text in ("NaN", "Infinity", "-Infinity") else None


def is_written(value: Mapping[str, Any]) -> bool:
    """Whether a mapping is the written form of a number."""
    return _number(value) is not None
