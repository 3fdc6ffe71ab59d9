"""Outcomes of an earlier run taken over for tests that nothing has changed for: asked for, marked and counted.

A test is taken over when the earlier run had the same test (identity, definition, what was foreseen of it) under the
same release, device, code, packages and variables, and one attempt at it had an outcome that follows from these.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from conformance import attribution, plan
from conformance.errors import ConformanceError
from conformance.journal import Journal
from conformance.outcomes import Attempt, Outcome, Reached
from conformance.plan import MODELS, PlannedTest, RunHeader
from conformance.record import Attempts, RunFolder, read_attempts

OPTION: Final = "option.reuse"
"""In a run's environment: whether it was asked to take outcomes over."""

SUITES: Final = (MODELS,)
"""Suites whose definitions say all that a test is: class, configuration, inputs, mode and dtype."""

_CHANCE: Final = frozenset({Outcome.TIMEOUT, Outcome.COMPILE_TIMEOUT, Outcome.CRASH, Outcome.INFRA, Outcome.NOT_RUN})
"""Outcomes that the same test may not have again: time, memory and the machine had a part in them."""

_OWN_PRINTS: Final = frozenset({"plan"})
_OWN_FACTS: Final = frozenset(
    {OPTION, "workers", "cache.compile", "machine.cores", "conformance.revision", "expectations.day",
     "variable.CONFORMANCE_HOME"}
)  # fmt: skip
"""Of a run's environment: what is the run's own affair. Code has a hash of its own, what is foreseen is in the plan."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reused:
    """An attempt that is taken over: the test's key, and the folder of the run in whose record it is."""

    key: str
    attempt: Attempt
    folder: RunFolder


def find(runs: Path, header: RunHeader, tests: Sequence[PlannedTest]) -> list[Reused]:
    """What can be taken over from the runs in a folder, for each test from the newest run that has it."""
    wanted = {each.key: each for each in tests if each.id.suite in SUITES and each.decided is None}
    found: list[Reused] = []
    for folder in _alike(runs, header):
        if not wanted:
            break
        new = list(_of(folder, wanted))
        for each in new:
            del wanted[each.key]
        found += new
    return found


def _alike(runs: Path, header: RunHeader) -> Iterator[RunFolder]:
    """Folders of earlier runs under the same conditions, newest first; what cannot be read is no run to take from."""
    headers = []
    for path in runs.glob("*/run.json"):
        try:
            earlier = RunFolder(path=path.parent).read_header()
        except ConformanceError:
            continue
        if earlier.run != header.run and _conditions(earlier) == _conditions(header):
            headers.append((earlier.started, path.parent))
    yield from (RunFolder(path=path) for _, path in sorted(headers, reverse=True))


def _conditions(header: RunHeader) -> tuple[object, ...]:
    prints = {name: value for name, value in header.fingerprint.items() if name not in _OWN_PRINTS}
    facts = {name: value for name, value in header.environment.items() if name not in _OWN_FACTS}
    return header.target, header.release, header.simulated, prints, facts


def _of(folder: RunFolder, wanted: dict[str, PlannedTest]) -> Iterator[Reused]:
    try:
        run, tests, made = folder.read_header().run, plan.read(folder.plan), read_attempts(folder)
    except (ConformanceError, OSError):
        return
    for test in tests:
        if _same(test, wanted.get(test.key)) and (attempt := _attempt(made, test.key)) is not None:
            yield Reused(key=test.key, attempt=replace(attempt, reused=attempt.reused or run), folder=folder)


def _same(earlier: PlannedTest, now: PlannedTest | None) -> bool:
    return now is not None and msgspec.structs.replace(earlier, where="") == msgspec.structs.replace(now, where="")


def _attempt(made: Attempts, key: str) -> Attempt | None:
    """The one attempt at a test; None where there were several, or its outcome was chance."""
    numbered = made.ended.get(key, {})
    if len(numbered) != 1 or key in made.open:
        return None
    (end,) = numbered.values()
    if end.o in _CHANCE:
        return None
    taken = made.reach.get(end.u)
    reached = None if taken is None else Reached(executed=frozenset(taken.ran), fallback=frozenset(taken.fell))
    return replace(end.attempt(), reached=reached)


def write(into: RunFolder, found: Sequence[Reused]) -> None:
    """Record what is taken over, as a journal beside those of this run, with the facts that belong to it."""
    with Journal(into.journals / "000-reused.jsonl") as journal:
        for each in found:
            journal.end(each.key, each.attempt)
    keys: dict[Path, set[str]] = {}
    for each in found:
        keys.setdefault(each.folder.path, set()).add(each.key)
    for number, (path, of_run) in enumerate(keys.items(), 1):
        _copy(path / attribution.FOLDER, into.path / attribution.FOLDER, of_run, number)


def _copy(source: Path, into: Path, keys: set[str], number: int) -> None:
    """The facts of these tests, and the calls that their models made, which name models and not tests."""
    into.mkdir(exist_ok=True)
    lines = attribution.facts_lines(source, keys)
    (into / f"facts-reused-{number}.jsonl").write_bytes(b"".join(each + b"\n" for each in lines))
    for each in sorted(source.glob("calls-*.jsonl")):
        name = each.name.removeprefix("calls-").removeprefix("reused-")
        shutil.copyfile(each, into / f"calls-reused-{number}-{name}")
