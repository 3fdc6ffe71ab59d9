"""A run or a comparison as Markdown for the summary of a CI job, within a number of bytes: the end goes first.

GitHub drops the whole summary of a step that is over 1,024 KiB:
https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from conformance.exports.plain import one_line
from conformance.outcomes import GROUPS, Outcome
from conformance.pairs import BLOCKING, PairClass
from conformance.store import Cause, Comparison, DiffRow, OutcomeRow, RunRow, Tally

LARGEST: Final = 1_000_000
"""Bytes of a summary, below GitHub's 1,048,576."""
_LONGEST: Final = 300
_SAFE: Final = frozenset(" .,-/()=")
_INSIDE: Final = re.compile("(?<=[A-Za-z0-9])&#95;(?=[A-Za-z0-9])")
_ROOM: Final = 120
"""Bytes kept for the sentence that says what was left out."""


def cell(text: str) -> str:
    """Foreign text as it is, whatever it holds: no markup, no link, no mention, no further cell, no command."""
    shown = one_line(text, _LONGEST)
    written = "".join(each if each.isalnum() or each in _SAFE else f"&#{ord(each)};" for each in shown)
    # Between two letters an underscore is one for Markdown too.
    return _INSIDE.sub("_", written)


def of_run(run: RunRow, kinds: Sequence[Tally], wrong: Iterable[OutcomeRow], largest: int = LARGEST) -> str:
    """Head, outcomes, kinds, then each test that failed, as many as there is room for."""
    return fitted([*_head_of(run), *_outcomes(run), *_kinds(kinds)], _failures(wrong), largest)


def of_comparison(
    compared: Comparison, causes: Sequence[Cause], rows: Iterable[DiffRow], largest: int = LARGEST
) -> str:
    """Both sides, the classes, causes of what blocks, then each test of such a class, as many as there is room for."""
    return fitted([*_sides(compared), *_classes(compared)], [*_causes(causes), *_changes(rows)], largest)


def fitted(needed: Sequence[str], further: Iterable[str], largest: int) -> str:
    """Lines joined: the needed ones, and further ones up to `largest` bytes, with how many were left out."""
    lines, size, left = list(needed), sum(map(_bytes, needed)), 0
    for line in further:
        if left or size + _bytes(line) + _ROOM > largest:
            left += 1
            continue
        lines.append(line)
        size += _bytes(line)
    if left:
        lines += ["", f"*{left:,} more lines are left out: a summary holds {largest:,} bytes.*"]
    return "\n".join(lines) + "\n"


def _bytes(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


def _simulated(simulated: bool) -> list[str]:
    return ["> **Simulation:** these results say nothing about hardware.", ""] if simulated else []


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} % ({part:,} of {whole:,})" if whole else "–"


def _head_of(run: RunRow) -> list[str]:
    state = "" if run.sealed else f" **Incomplete:** {run.counts.get(Outcome.NOT_RUN, 0):,} tests have not run."
    return [
        f"## Conformance of {cell(run.release)} on {cell(run.target)}", "", *_simulated(run.simulated),
        f"Run {cell(run.uid)}, {run.planned:,} tests planned.{state}", "",
        f"pass / eligible: **{_share(run.passed, run.eligible)}**; with fallback: {_share(run.right, run.eligible)}",
        "",
    ]  # fmt: skip


def _outcomes(run: RunRow) -> Iterator[str]:
    yield from ("| outcome | tests | of planned | |", "|---|--:|--:|---|")
    for each in Outcome:
        if count := run.counts.get(each):
            share, group = 100 * count / run.planned, cell(GROUPS.get(each, ""))
            yield f"| {cell(each.word)} | {count:,} | {share:.1f} % | {group} |"
    yield ""


def _kinds(kinds: Sequence[Tally]) -> Iterator[str]:
    if not kinds:
        return
    yield from ("| kind | planned | eligible | pass | fallback |", "|---|--:|--:|--:|--:|")
    for each in kinds:
        passed, fell = (each.counts.get(one, 0) for one in (Outcome.PASS, Outcome.FALLBACK))
        yield f"| {cell(each.label or '(none)')} | {each.planned:,} | {each.eligible:,} | {passed:,} | {fell:,} |"
    yield ""


def _failures(rows: Iterable[OutcomeRow]) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number == 0:
            yield from ("### What failed", "", "| outcome | test | message |", "|---|---|---|")
        yield f"| {cell(row.outcome.word)} | {cell(row.key)} | {cell(row.message)} |"


def _sides(compared: Comparison) -> list[str]:
    found = ["## Conformance compared", "", *_simulated(compared.a.simulated)]
    for name, runs in zip(("baseline", "candidate"), compared.runs, strict=True):
        uids = ", ".join(cell(each.uid) for each in runs)
        found.append(f"- {name}: **{cell(runs[0].release)}** on {cell(runs[0].target)}, {uids}")
    return [*found, ""]


def _classes(compared: Comparison) -> Iterator[str]:
    yield f"**{compared.blocking:,}** of {sum(compared.counts.values()):,} tests are of a class that blocks a release."
    yield from ("", "| class | tests | |", "|---|--:|---|")
    for pair in PairClass:
        if count := compared.counts.get(pair):
            yield f"| {cell(pair.word)} | {count:,} | {'blocks' if pair in BLOCKING else ''} |"
    yield ""


def _causes(causes: Sequence[Cause]) -> Iterator[str]:
    if not causes:
        return
    total = sum(each.tests for each in causes)
    yield from (f"### {len(causes):,} causes, {total:,} tests", "", "| tests | cause | for example |", "|--:|---|---|")
    for each in causes:
        yield f"| {each.tests:,} | {cell(each.signature)} | {cell(each.example)} |"
    yield ""


def _changes(rows: Iterable[DiffRow]) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number == 0:
            yield from ("### What blocks", "", "| class | test | was | is | message |", "|---|---|---|---|---|")
        was, now = ("not planned" if side.outcome is None else side.outcome.word for side in (row.a, row.b))
        yield f"| {cell(row.pair.word)} | {cell(row.key)} | {cell(was)} | {cell(now)} | {cell(row.b.message)} |"
