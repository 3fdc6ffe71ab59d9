"""Counts as people read them: shares that never round to all or nothing, times, and bars."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup, escape

from web.marks import IN_A_BAR

_WIDTH: Final = 1000
_LEAST: Final = 3


def share(part: int, whole: int) -> str:
    """A percentage with one decimal; "–" of nothing; 100.0 and 0.0 only when it is all or none."""
    if whole == 0:
        return "–"
    rounded = f"{100 * part / whole:.1f}"
    if part < whole and rounded == "100.0":
        rounded = "99.9"
    if part > 0 and rounded == "0.0":
        return "<0.1 %"
    return f"{rounded} %"


def duration(seconds: float) -> str:
    """Seconds in the unit that fits: 12 µs, 3.4 ms, 1.2 s, 4 min 10 s, 2 h 3 min."""
    if seconds <= 0:
        return "–"
    if seconds < 0.999_5e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 0.999_5:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def moment(when: datetime) -> Markup:
    """A time in UTC, for people and for machines."""
    utc = when.astimezone(UTC)
    return Markup(f'<time datetime="{utc:%Y-%m-%dT%H:%M:%SZ}">{utc:%Y-%m-%d %H:%M} UTC</time>')


def said(counts: Mapping[str, int]) -> str:
    """Counts by outcome as a sentence, in the order of the bar."""
    return ", ".join(f"{counts[each.word]:,} {each.word}" for each in IN_A_BAR if counts.get(each.word))


def bar(counts: Mapping[str, int]) -> Markup:
    """Counts by outcome as a bar; a segment that would vanish keeps a sliver. Numbers stand beside it."""
    whole = sum(counts.values())
    present = [(each.word, counts[each.word]) for each in IN_A_BAR if counts.get(each.word)]
    widths = [max(_LEAST, _WIDTH * number / whole) for _, number in present]
    scale, left, parts = _WIDTH / sum(widths) if widths else 1.0, 0.0, []
    for (word, number), width in zip(present, widths, strict=True):
        parts.append(
            f'<rect class="b-{word}" x="{left:.1f}" y="0" width="{width * scale:.1f}" height="10">'
            f"<title>{word}: {number:,} of {whole:,}</title></rect>"
        )
        left += width * scale
    label = escape(said(counts) or "nothing planned")
    return Markup(
        f'<svg class="bar" viewBox="0 0 {_WIDTH} 10" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"{''.join(parts)}</svg>"
    )
