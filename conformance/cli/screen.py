"""Text on a terminal: tables, and foreign text that cannot take the terminal over."""

import csv
import json
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import click

from conformance.cli import streams
from conformance.errors import ExitCode

_DANGEROUS: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that move the cursor, colour, reorder or hide text."""


def safe(text: str, longest: int | None = None) -> str:
    """Foreign text on one line: control and reordering characters are shown as escapes, the rest is cut."""
    shown = text if text.isascii() and text.isprintable() else "".join(map(_visible, text))
    return shown if longest is None or len(shown) <= longest else shown[: longest - 1] + "…"


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _DANGEROUS:
        return character
    return character.encode("unicode_escape").decode("ascii")


def paragraph(text: str) -> str:
    """Foreign text that keeps its lines, everything else as in `safe`."""
    return "\n".join(safe(line.expandtabs(4)) for line in text.splitlines())


def say(line: str = "") -> None:
    """A line of data on stdout."""
    click.echo(line)


def remark(line: str) -> None:
    """A line beside the data, on stderr."""
    click.echo(f"conformance: {line}", err=True)


def finish(code: ExitCode, sentence: str) -> int:
    """The last line on stderr, which names the exit code; returns the code."""
    remark(f"{sentence} (exit {int(code)}: {code.name.lower()})")
    return int(code)


def say_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Aligned columns, numbers to the right. Every cell is made safe; nothing is cut."""
    cells = [[_cell(each) for each in row] for row in rows]
    numeric = [all(isinstance(row[place], int | float) for row in rows) for place in range(len(heads))] if cells else []
    widths = [max(len(head), *(len(row[place]) for row in cells)) for place, head in enumerate(heads)] if cells else []
    for line in [list(heads), *cells] if cells else []:
        parts = [
            each.rjust(width) if right else each.ljust(width)
            for each, width, right in zip(line, widths, numeric, strict=True)
        ]
        say("  ".join(parts).rstrip())


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if isinstance(value, float) else safe(str(value))


def say_json(document: Mapping[str, Any]) -> None:
    """One object on stdout; control characters are escaped."""
    say(json.dumps(document, ensure_ascii=True))


def say_lines(documents: Iterable[Mapping[str, Any]]) -> None:
    """One object a line."""
    for each in documents:
        if streams.reader_left():
            return
        say(json.dumps(each, ensure_ascii=True))


def say_csv(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Comma-separated values. A cell that a spreadsheet would take for a formula gets an apostrophe in front."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([_plain(each) for each in row] for row in rows)


def _plain(value: object) -> object:
    text = safe(str(value))
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") and not isinstance(value, int | float) else text


def percent(part: int, whole: int) -> str:
    """A share with its numbers, `93.1 % (6,121 of 6,574)`; a dash for nothing of nothing."""
    return f"{100 * part / whole:.1f} % ({part:,} of {whole:,})" if whole else "–"
