"""What failures have in common: a signature without numbers, shapes, addresses and paths, and a short name for it.

Standard library only. A recorded cause is a signature already when our own classification wrote it; texts of other
origin, and the last words of a dead process, are not.
"""

import hashlib
import re
from typing import Final

NAME_LENGTH: Final = 10
"""Hexadecimal digits of a cause's name: two among 10,000 causes share one with a chance of 1 in 20,000."""

_LONGEST: Final = 300

_NOISE: Final = (
    (re.compile(r"\b0x[0-9a-fA-F]+"), "0x…"),
    (re.compile(r"(?<![\w.])[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?!\w)"), "…"),
    (re.compile(r"\[[-\d, ]*\]|\([-\d, ]*\d[-\d, ]*\)"), "[…]"),
    (re.compile(r"(?<![\w.])(?:/[\w.+@-]+)+/([\w.+@-]+)"), r"…/\1"),
    (re.compile(r"(?<![\w.])\d+(\.\d+)?(e[+-]?\d+)?(?!\w)"), "N"),
    (re.compile(r"\b(aten::\w*?[^\W_])_(?!\w)"), r"\1"),
    (re.compile(r"\s+"), " "),
)
"""What differs between two failures of one cause. Digits inside a word stay: they name an op, a dtype, a code.
An op in place is the op: `aten::add_` fails for what fails `aten::add`."""


def signature(text: str) -> str:
    """A text that is equal for failures of one cause; a signature is its own signature."""
    for pattern, put in _NOISE:
        text = pattern.sub(put, text)
    return text.strip()[:_LONGEST].strip()


def name_of(signature: str) -> str:
    """A cause's short name: NAME_LENGTH hexadecimal digits, the same wherever and whenever it is met."""
    hashed = hashlib.blake2b(signature.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return hashed[:NAME_LENGTH]
