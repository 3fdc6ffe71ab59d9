"""Foreign text made fit for a format that does not take every character; where it is cut, that is said."""

import re
from typing import Final

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write, escaped or not: https://www.w3.org/TR/xml/#charsets."""


def fit_for_xml(text: str) -> str:
    r"""The text with characters that XML cannot hold written as `\x1b`, so that no file is lost for one of them."""
    return _NOT_XML.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def cut(text: str, longest: int) -> str:
    """The text, or `longest` characters of it and how many are left out."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}\n… {len(text) - longest:,} more characters are left out here"


def one_line(text: str, longest: int) -> str:
    """The text on one line, control characters as escapes, cut with an ellipsis."""
    shown = "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
