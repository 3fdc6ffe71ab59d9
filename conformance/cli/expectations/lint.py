"""`conformance expectations lint`: what is wrong with coverage and expectation files."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from conformance import plan, settings, targets
from conformance.cli import earlier, screen, wishes
from conformance.errors import ExitCode, UsageError
from conformance.expectations import files
from conformance.expectations import lint as linting
from conformance.expectations.against import Plan, against
from conformance.expectations.chosen import Chosen
from conformance.expectations.entries import Conditions
from conformance.expectations.lint import Finding, Source
from conformance.expectations.writing import many
from conformance.plan import PlannedTest, Selection
from conformance.progress import Silent
from conformance.supervision.running import Request, Runner
from conformance.supervision.stopping import listening
from conformance.supervision.watch import Limits

_MOST_UNCHECKED: Final = 10


@click.command()
@click.argument("paths", nargs=-1, metavar="FILE…", type=click.Path(path_type=Path))
@click.option("--target", metavar="T", help="Check its shipped file too, against a plan for it.")
@click.option("--suite", "suite", multiple=True, metavar="S", help="What to plan for that.  [default: ops]")
@click.option("--plan-of", metavar="RUN", help="Take this run's plan instead of making one.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def lint(paths: tuple[Path, ...], target: str | None, suite: tuple[str, ...], plan_of: str | None, form: str) -> int:
    """Check files, and those that are in force for a target: exit 1 when something is wrong.

    Without a target or a plan, entries are checked by themselves alone.

    Example: conformance expectations lint --target sim mine.toml
    """
    sources = _sources(paths, target)
    conditions = files.conditions("", day=Chosen.of_environment().day)
    found, unchecked = linting.by_themselves(sources, conditions), list[str]()
    if target or plan_of:
        held = _plan_of(plan_of, conditions) if plan_of else _plan_for(str(target), suite, sources, conditions)
        more, unchecked = against(sources, held)
        found += more
    return _say(linting.ordered(found, sources), sources, unchecked, form)


def _sources(paths: Sequence[Path], target: str | None) -> list[Source]:
    named = Chosen(files=(*paths, *(Chosen.of_environment().files if target else ())))
    known = named.files
    if target:
        targets.get(target)
        known = named.paths(target)
    if not known:
        raise UsageError("no file is given: name one, or a target with --target")
    return [linting.source(each, files.read(each)) for each in dict.fromkeys(known)]


def _plan_of(run: str, conditions: Conditions) -> Plan:
    folder = earlier.folder(settings.load(), run)
    header = folder.read_header()
    torch = header.fingerprint.get("torch") or conditions.torch
    return _held(plan.read(folder.plan), header.target, header.release, torch, conditions)


def _plan_for(target: str, suite: Sequence[str], sources: Sequence[Source], conditions: Conditions) -> Plan:
    own = files.shipped(target)
    if any(finding.word == "malformed" for each in sources if each.path == own for finding in each.findings):
        raise UsageError(
            f"nothing can be planned with the shipped file {own}: mend it, `lint {own}` tells what is wrong"
        )
    found = targets.get(target)
    release = targets.choose_release(found, None)
    request = Request(
        target=found, release=release, workers=1, limits=Limits(), told=Chosen(day=conditions.today),
        selection=Selection(suites=wishes.split(suite) or ("ops",), profile="full"),
    )  # fmt: skip
    with listening() as stopped:
        runner = Runner(settings=settings.load(), progress=Silent(), say=screen.remark, stopped=stopped)
        tests = runner.plan(request)
    return _held(tests, target, release, conditions.torch, conditions)


def _held(tests: Sequence[PlannedTest], target: str, release: str, torch: str, conditions: Conditions) -> Plan:
    known = targets.get(target).releases()
    return Plan(tests=tests, releases=known or (release,), torch=torch, today=conditions.today, closed=bool(known))


def _say(found: Sequence[Finding], sources: Sequence[Source], unchecked: Sequence[str], form: str) -> int:
    entries = sum(len(each.entries) for each in sources)
    if form == "json":
        screen.say_json(_document(found, sources, unchecked))
    for each in found if form != "json" else ():
        name = f" entry {each.entry!r}" if each.entry else ""
        screen.say(screen.safe(f"{each.path}:{each.line}: {each.word}:{name} {each.text}"))
    if unchecked:
        some = ", ".join(unchecked[:_MOST_UNCHECKED]) + (" …" if len(unchecked) > _MOST_UNCHECKED else "")
        screen.remark(f"not checked against this plan, for another suite, release or torch: {screen.safe(some)}")
    whole = many(entries, "entry", "entries")
    if not found:
        return screen.finish(ExitCode.FINE, f"{whole}, nothing is wrong")
    counts = ", ".join(f"{number} {word}" for word, number in Counter(each.word for each in found).items())
    return screen.finish(ExitCode.REGRESSION, f"{whole}, {many(len(found), 'finding')}: {counts}")


def _document(found: Sequence[Finding], sources: Sequence[Source], unchecked: Sequence[str]) -> dict[str, Any]:
    return {
        "files": [str(each.path) for each in sources],
        "entries": sum(len(each.entries) for each in sources),
        "findings": [
            {"file": str(each.path), "line": each.line, "entry": each.entry, "kind": each.word, "text": each.text}
            for each in found
        ],
        "not_checked_against_the_plan": list(unchecked),
    }
