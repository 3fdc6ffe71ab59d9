"""What a run showed of coverage and expectation entries, at the end of its report: those that can go, the expired."""

from collections.abc import Sequence
from typing import Any, Final

from conformance.cli import screen
from conformance.errors import UsageError
from conformance.expectations import blocks, chosen, files, standing
from conformance.expectations.chosen import Chosen
from conformance.expectations.files import Written
from conformance.expectations.standing import Standing
from conformance.expectations.writing import many
from conformance.outcomes import Outcome
from conformance.plan import RunHeader
from conformance.summary import Summary

_MOST: Final = 10
"""Entries that a report names one by one."""


def entries(header: RunHeader) -> list[Written]:
    """The entries of the files that a run was told. Raises UsageError when one of them is gone or broken."""
    return chosen.written(header.target, Chosen.of_facts(header.environment))


def lines(done: Summary) -> list[str]:
    """The end of a run's report; nothing where no entry is stale or expired."""
    try:
        written = entries(done.header)
    except UsageError as error:
        return [f"which entries are stale cannot be told: {error}"]
    tried = standing.standings(written, done.results)
    return [*_stale(done.header, tried), *_expired(done.header, written)]


def document(done: Summary) -> dict[str, Any]:
    """The same for `--format json`: the stale entries with the edit that each needs, and the expired ones."""
    try:
        written = entries(done.header)
    except UsageError:
        return {}
    tried = standing.standings(written, done.results)
    return {
        "entries_tried": len(tried),
        "stale_entries": [_document(done.header, each) for each in tried if each.stale],
        "expired_entries": [each.entry.id for each in _over(done.header, written)],
    }


def _document(header: RunHeader, each: Standing) -> dict[str, Any]:
    return {
        "rule": standing.rule_of(each.written), "place": place(each.written), "tests": len(each.tests),
        "stale": len(each.stale), "wholly": each.wholly, "edit": each.edit(header.selection).sentence(),
    }  # fmt: skip


def _stale(header: RunHeader, tried: Sequence[Standing]) -> list[str]:
    found = [each for each in tried if each.stale]
    if not found:
        return []
    wholly = sum(each.wholly for each in found)
    number = many(len(tried), "entry", "entries")
    head = f"coverage and expectations: {number} tried, {wholly} wholly stale, {len(found) - wholly} partly"
    named = [f"  {_line(header, each)}" for each in found[:_MOST]]
    more = [f"  … and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return [head, *named, *more, f"  the edits: conformance expectations update --from {screen.safe(header.run)}"]


def _line(header: RunHeader, each: Standing) -> str:
    counts = ", ".join(f"{each.outcomes[outcome]:,} {outcome.word}" for outcome in Outcome if each.outcomes[outcome])
    what = f"{len(each.stale):,} of {len(each.tests):,} tests right ({counts})"
    rule = standing.rule_of(each.written)
    return screen.safe(f"{rule} ({place(each.written)}): {what}: {each.edit(header.selection).sentence()}")


def place(written: Written) -> str:
    """`file:line` of an entry."""
    try:
        text = files.read(written.path).decode()
    except (UsageError, UnicodeDecodeError):
        return written.path.name
    return f"{written.path.name}:{blocks.line_of(text, written.section, written.place)}"


def _over(header: RunHeader, written: Sequence[Written]) -> list[Written]:
    day = Chosen.of_facts(header.environment).day
    found = files.conditions(header.release, torch=header.fingerprint.get("torch"), day=day)
    return [each for each in written if found.in_range(each.entry) and found.expired(each.entry)]


def _expired(header: RunHeader, written: Sequence[Written]) -> list[str]:
    over = _over(header, written)
    return [
        screen.safe(f"expired, and not in force since {each.entry.expires}: {each.entry.id} ({place(each)})")
        for each in over[:_MOST]
    ] + ([f"… and {len(over) - _MOST} more expired entries"] if len(over) > _MOST else [])
