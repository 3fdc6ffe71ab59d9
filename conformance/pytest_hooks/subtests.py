"""Subtests: each is named and counted inside its test, and a failed one is told with its own cause."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from _pytest.subtests import SubtestReport

from conformance.classify import Verdict
from conformance.pytest_hooks.evidence import Seen

Failure = tuple[Seen, Verdict]

NAMED: Final = 8
"""Failed subtests that the message names; the detail has all of them."""
LONGEST_NAME: Final = 120
LONGEST_LINE: Final = 200
TRACED: Final = 3
"""Failed subtests whose tracebacks are kept: a journal holds 16,384 characters of detail, a traceback some 2,000."""


def named(seen: Seen, report: SubtestReport) -> Seen:
    """The subtest with the name that pytest gives it, as `[message] (size=3)`, and with what it printed."""
    name = report._sub_test_description()
    if report.outcome != "failed" or not report.sections:
        return replace(seen, name=name)
    return replace(seen, name=name, printed="\n".join(f"{title}:\n{text}" for title, text in report.sections))


def counted(failures: Sequence[Failure], seen: Iterable[Seen]) -> str:
    """`3 of 20 subtests failed: (size=3), (size=7), (size=11)`; empty where no subtest failed."""
    names = [_short(each.name) for each, _ in failures if each.subtest]
    if not names:
        return ""
    made = sum(each.subtest for each in seen)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{len(names)} of {made} subtests failed: {', '.join(names[:NAMED])}{more}"


def detailed(failures: Sequence[Failure]) -> str:
    """A line for each failure, subtests by name, then the first ones' tracebacks with what they printed."""
    lines = [f"{_label(seen)}: {found.outcome.word}, {_first_line(found.message)}" for seen, found in failures]
    traces = [f"\n{_label(seen)}\n{found.detail}{_printed(seen)}" for seen, found in failures[:TRACED]]
    return "\n".join([*lines, *traces])


def _label(seen: Seen) -> str:
    return f"subtest {_short(seen.name)}" if seen.subtest else f"the test itself, in {seen.stage}"


def _printed(seen: Seen) -> str:
    return f"\n{seen.printed}" if seen.printed else ""


def _short(name: str) -> str:
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in name)
    return shown if len(shown) <= LONGEST_NAME else shown[:LONGEST_NAME] + "…"


def _first_line(message: str) -> str:
    return next(iter(message.splitlines()), "")[:LONGEST_LINE]
