"""A run as JUnit XML: only what passed on the device is passed, every other outcome says its word.

JUnit knows passed, skipped, failure and error. What is right but not proven, or ran on the CPU, is skipped there: a
reader that counts passed tests must not count it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, TextIO
from xml.sax.saxutils import escape, quoteattr

from conformance.exports.plain import cut, fit_for_xml, one_line
from conformance.outcomes import Outcome
from conformance.store import OutcomeRow, RunRow

LONGEST_DETAIL: Final = 16_384
"""Characters of a traceback; a journal holds no more."""
LONGEST_MESSAGE: Final = 1_000

_FAILURE: Final = frozenset(
    {Outcome.FAIL, Outcome.XPASS, Outcome.COMPILE_FAIL, Outcome.COMPILE_TIMEOUT, Outcome.TIMEOUT, Outcome.CRASH}
)
_ERROR: Final = frozenset({Outcome.ERROR, Outcome.INFRA, Outcome.NOT_RUN})

Details = Callable[[list[OutcomeRow]], Mapping[int, str]]
"""Gives the tracebacks of tests by their number."""


def element_of(outcome: Outcome) -> str:
    """The element that tells an outcome: "" for one that is passed, `skipped`, `failure` or `error`."""
    if outcome is Outcome.PASS:
        return ""
    return "failure" if outcome in _FAILURE else "error" if outcome in _ERROR else "skipped"


def tells_failure(outcome: Outcome) -> bool:
    """Whether JUnit tells the outcome as a failure or an error."""
    return element_of(outcome) in ("failure", "error")


def write(out: TextIO, run: RunRow, rows: Iterable[OutcomeRow], details: Details) -> None:
    """Write a run. Rows of one file and class that come one after another are one suite; nothing else is kept."""
    totals = _totals(run.counts)
    out.write('<?xml version="1.0" encoding="utf-8"?>\n')
    out.write(f"<testsuites name={_quoted(f'conformance {run.uid}')} {totals}>\n")
    for number, (place, members) in enumerate(groupby(rows, key=_suite)):
        found = list(members)
        counts = {each: sum(row.outcome is each for row in found) for each in {row.outcome for row in found}}
        out.write(f"<testsuite name={_quoted(place)} {_totals(counts)} time={_time(found)}>\n")
        if number == 0:
            out.write(_properties(_facts(run)))
        said = details([row for row in found if tells_failure(row.outcome)])
        out.writelines(_case(row, said.get(row.number, "")) for row in found)
        out.write("</testsuite>\n")
    out.write("</testsuites>\n")


def _suite(row: OutcomeRow) -> str:
    return ".".join(part for part in (row.id.suite, row.id.file.replace("/", "."), row.id.cls) if part)


def _totals(counts: Mapping[Outcome, int]) -> str:
    found = dict.fromkeys(("", "failure", "error", "skipped"), 0)
    for outcome, count in counts.items():
        found[element_of(outcome)] += count
    return (
        f'tests="{sum(found.values())}" failures="{found["failure"]}" errors="{found["error"]}" '
        f'skipped="{found["skipped"]}"'
    )


def _time(rows: Iterable[OutcomeRow]) -> str:
    return f'"{sum(sum(row.seconds.values()) for row in rows):.3f}"'


def _facts(run: RunRow) -> dict[str, str]:
    label = {"simulated": "yes: these results say nothing about hardware"} if run.simulated else {"simulated": "no"}
    sealed = "yes" if run.sealed else "no: tests have not run"
    known = {"run": run.uid, "target": run.target, "release": run.release, "torch": run.torch, "sealed": sealed}
    return {**known, **label}


def _properties(facts: Mapping[str, str]) -> str:
    lines = (f"<property name={_quoted(name)} value={_quoted(value)}/>" for name, value in facts.items())
    return f"<properties>{''.join(lines)}</properties>\n"


def _case(row: OutcomeRow, detail: str) -> str:
    head = f"<testcase classname={_quoted(_suite(row))} name={_quoted(row.id.name)} time={_time([row])}>"
    return f"{head}{_properties(dict(_told(row))).rstrip()}{_element(row, detail)}</testcase>\n"


def _told(row: OutcomeRow) -> Iterator[tuple[str, str]]:
    yield "outcome", row.outcome.word
    yield "ran_on", row.ran_on
    if row.rule:
        yield "rule", row.rule
    if row.flaky:
        yield "flaky", "yes"
    if row.fallback_ops:
        yield "fallback_ops", " ".join(row.fallback_ops)


def _element(row: OutcomeRow, detail: str) -> str:
    name = element_of(row.outcome)
    if not name:
        return ""
    said = one_line(": ".join(part for part in (row.outcome.word, _reason(row)) if part), LONGEST_MESSAGE)
    head = f"<{name} type={_quoted(row.outcome.word)} message={_quoted(said)}"
    return f"{head}>{escape(fit_for_xml(cut(detail, LONGEST_DETAIL)))}</{name}>" if detail else f"{head}/>"


def _reason(row: OutcomeRow) -> str:
    if row.outcome is Outcome.FALLBACK and row.fallback_ops:
        return f"right, but on the CPU: {', '.join(row.fallback_ops)}"
    return row.message or row.rule


def _quoted(text: str) -> str:
    return quoteattr(fit_for_xml(text))
