"""The order of dtypes on a page: by how much they matter, not by the alphabet."""

from collections.abc import Sequence
from typing import Final

_FIRST: Final = (
    "float32", "bfloat16", "float16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
    "complex128", "complex32",
)  # fmt: skip


def dtype_order(dtypes: Sequence[str]) -> list[int]:
    """Places of dtypes in the order of a page: the usual ones, others by name, tests without a dtype last."""
    ranks = {each: rank for rank, each in enumerate(_FIRST)}
    return sorted(
        range(len(dtypes)),
        key=lambda place: (dtypes[place] == "", ranks.get(dtypes[place], len(ranks)), dtypes[place]),
    )
