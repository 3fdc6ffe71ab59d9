"""Folders of runs for tests, written through the journal as a run writes them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.journal import Journal
from conformance.outcomes import Attempt, Outcome, RanOn, Stage, TestId
from conformance.plan import Decision, PlannedTest, RunHeader, Selection, digest
from conformance.record import RunFolder

Made = Outcome | Attempt | Decision | Sequence[Attempt] | None
"""How a test ends: a bare outcome, an attempt, several, a decision of the plan, or None for "never run"."""


def identity(name: str, suite: str = "s") -> TestId:
    """`kind.op.dtype` as an identity; a name without dots has no parts."""
    parts = name.split(".")
    kind, op, dtype = parts if len(parts) == 3 else ("", "", "")
    return TestId(suite=suite, file="f.py", cls="C", name=name, op=op, dtype=dtype, kind=kind)


def attempt(outcome: Outcome, *, ops: Sequence[str] = (), cause: str = "", **more: Any) -> Attempt:
    """An attempt that says enough to be told from others."""
    return Attempt(
        outcome=outcome, ran_on=RanOn.DEVICE, stage=Stage.COMPARE, seconds={"setup": 0.001, "execute": 0.5},
        cause=cause, fallback_ops=tuple(ops), **more,
    )  # fmt: skip


def make_run(
    path: Path,
    results: Mapping[str, Made],
    *,
    uid: str = "",
    release: str = "sim-1.0",
    target: str = "sim",
    simulated: bool = True,
    selection: Selection | None = None,
    definitions: Mapping[str, str] | None = None,
    started: float = 1_700_000_000.0,
    suite: str = "s",
    probed: Mapping[str, Decision] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Path:
    """Write a run's folder and return it; `uid` is the folder's name unless given."""
    definitions, probed = definitions or {}, probed or {}
    tests = [
        PlannedTest(
            id=identity(name, suite), definition=definitions.get(name, "1"),
            decided=made if isinstance(made, Decision) else None, probed=probed.get(name),
        )
        for name, made in results.items()
    ]  # fmt: skip
    header = RunHeader(
        run=uid or path.name, target=target, release=release, simulated=simulated,
        selection=selection or Selection(suites=(suite,)), plan_digest=digest(tests), planned=len(tests),
        started=started, environment={"torch": "2.13.0", **(environment or {})},
    )  # fmt: skip
    RunFolder(path=path).create(header, tests)
    with Journal(RunFolder(path=path).journals / "one.jsonl") as journal:
        for test, made in zip(tests, results.values(), strict=True):
            for number, each in enumerate(_attempts(made), 1):
                journal.begin(test.key, number)
                journal.end(test.key, each, number)
    return path


def _attempts(made: Made) -> Sequence[Attempt]:
    if made is None or isinstance(made, Decision):
        return ()
    if isinstance(made, Outcome):
        return [attempt(made)]
    return [made] if isinstance(made, Attempt) else made
