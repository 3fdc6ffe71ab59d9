"""Foreign text on a page: names, messages and tracebacks come from strangers and are shown, never obeyed."""

import re
from typing import Final

_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Controls but newline and tab, direction overrides, what has no width, lone surrogates, tag characters."""

_COLOUR: Final = re.compile(r"\x1b\[[0-9;:]*[A-Za-z]|\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)")
"""Terminal sequences: CSI (colours, cursor) and OSC (titles, links)."""

LONGEST_NAME: Final = 180
"""Characters of a name shown in a table; the page of the test shows all of it."""

_NOT_WORTH_CUTTING: Final = 24
"""Characters that the note about a cut takes itself."""


def visible(text: str) -> str:
    """The text with every character that would not be seen, or would change the order of others, written out."""
    return _UNSEEN.sub(_written, text)


def _written(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def name(text: str, longest: int = LONGEST_NAME) -> str:
    """A name on one line, cut in the middle with a note of how much is missing."""
    line = visible(text).replace("\n", "\\n").replace("\t", "\\t")
    if len(line) <= longest + _NOT_WORTH_CUTTING:
        return line
    half = longest // 2
    return f"{line[:half]} … {len(line) - 2 * half:,} characters … {line[-half:]}"


def output(text: str) -> str:
    """What a program printed: terminal colours dropped, everything else as `visible`."""
    return visible(_COLOUR.sub("", text).replace("\r\n", "\n"))


def excerpt(text: str, longest: int) -> str:
    """The beginning of what a program printed, on one line."""
    line = " ".join(output(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
