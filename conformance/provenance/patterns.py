"""Regular expressions that people write into rules, checked so that no text of a test can hold a run up."""

import re
from collections.abc import Iterator
from typing import Final

from conformance.errors import UsageError

MOST_UNBOUNDED: Final = 2
"""Repetitions without bound in one pattern: with n of them a search costs the text's length to the power n + 1."""

_UNBOUNDED: Final = re.compile(r"[*+]|\{\d*,\}")
_REPEATED: Final = re.compile(r"[*+]|\{(\d+)?(,(\d+)?)?\}")
_REFERENCE: Final = re.compile(r"\\[1-9]|\(\?P=|\(\?\(")


def made(text: str, place: str, flags: int = 0) -> re.Pattern[str] | None:
    """The compiled pattern; None for an empty one.

    Raises UsageError for one that is no pattern, and for one whose search can take exponential time: a repeated group,
    more than two repetitions without bound, a reference to a group. `place` begins the sentence.
    """
    if not text:
        return None
    try:
        compiled = re.compile(text, flags)
    except re.error as error:
        raise UsageError(f"{place} is no regular expression: {error}: {text!r}") from None
    if remark := _dangerous(text):
        raise UsageError(f"{place} could take for ever on a long text, since it {remark}: {text!r}")
    return compiled


def _dangerous(text: str) -> str:
    plain = _without_escapes(text)
    if _REFERENCE.search(text):
        return "refers to a group"
    if any(_REPEATED.match(plain, after) for after in _group_ends(plain)):
        return "repeats a group; write the repetitions out"
    if len(_UNBOUNDED.findall(plain)) > MOST_UNBOUNDED:
        return f"has more than {MOST_UNBOUNDED} repetitions without bound; write .{{0,40}} instead of .*"
    return ""


def _without_escapes(text: str) -> str:
    """The pattern with escapes and character classes blanked, so that what is left of its signs are signs."""
    blank = re.sub(r"\\.", "__", text, flags=re.DOTALL)
    return re.sub(r"\[\^?\]?[^\]]*\]", lambda found: "_" * len(found[0]), blank)


def _group_ends(plain: str) -> Iterator[int]:
    return (place + 1 for place, sign in enumerate(plain) if sign == ")")
