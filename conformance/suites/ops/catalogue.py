"""The OpInfo entries of the installed torch, and those that a selection names."""

import difflib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from conformance.errors import UsageError


@cache
def by_name() -> Mapping[str, Any]:
    """Every OpInfo by its full name (`div`, `div.floor_rounding`), in the order of PyTorch's database."""
    return {op.full_name: op for op in op_db}


def chosen(names: Sequence[str]) -> list[Any]:
    """The OpInfos of those names; a plain name stands for all its variants, no name for every op.

    Raises UsageError, with the closest names, when there is no such op.
    """
    if not names:
        return list(by_name().values())
    unknown = [each for each in names if not any(each in (op.name, op.full_name) for op in by_name().values())]
    if unknown:
        raise UsageError(_unknown(unknown[0]))
    return [op for op in by_name().values() if op.name in names or op.full_name in names]


def _unknown(name: str) -> str:
    known = {each for op in by_name().values() for each in (op.name, op.full_name)}
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    remedy = f"did you mean {', '.join(close)}?" if close else "see PyTorch's op_db for the names"
    return f"unknown op {name[:80]!r}: {remedy}"


def dtypes(op: Any) -> list[torch.dtype]:
    """The dtypes that PyTorch claims for an op on the CPU, in a fixed order."""
    return sorted(op.supported_dtypes("cpu"), key=str)


def short(dtype: torch.dtype) -> str:
    """`float32` for torch.float32."""
    return str(dtype).removeprefix("torch.")
