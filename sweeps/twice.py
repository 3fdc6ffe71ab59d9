"""Tests of mode `compile`: a cold and a warm process each, with a compile cache of their own."""

import os
import pickle
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from conformance import classify, targets
from conformance.engines import ChildExit
from conformance.outcomes import BADNESS, Attempt, Outcome, RanOn, Reached
from conformance.plan import PlannedTest
from conformance.suites import Bench, Unstarted
from sweeps import apart, facts, running
from sweeps.facts import Facts
from sweeps.stages import compiled

CACHE_URL: Final = "NEURON_COMPILE_CACHE_URL"
FLAGS: Final = "NEURON_CC_FLAGS"
"""The documented variables that say where compiled graphs are kept; `--cache_dir` among the flags comes first."""

_RIGHT: Final = frozenset({Outcome.PASS, Outcome.FALLBACK, Outcome.UNPROVEN})

_NOT_COMPARED: Final = frozenset({"draws-numbers", "traces-otherwise"})
"""Rules of a cold half whose answer a warm one could not be compared with either."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a process hands to the one that forked it: pickled, since JSON has neither infinity nor sets."""

    attempt: Attempt
    facts: Facts


def run(tests: Sequence[PlannedTest], unstarted: Unstarted) -> int:
    """Run the tests in order and journal each; 0, or the status with which this process is to end."""
    for test in tests:
        folder = Path(test.where).parent / f"cache-{os.getpid()}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            ended = _one(test, unstarted, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(ended, int):
            return ended
        # Last, since a child may be left from within: after a test that was lost to the machine it is.
        _end(test, unstarted, ended)
    return 0


def _one(test: PlannedTest, unstarted: Unstarted, folder: Path) -> "Result | int":
    """What both processes came to, or the status with which this one is to end."""
    number, first, second = unstarted.number(test.key), folder / "cold.pickle", folder / "warm.pickle"
    cold = _Process(test=test, number=number, unstarted=unstarted, folder=folder, into=first)
    if status := apart.forked(cold.run):
        return status
    found = _read(first)
    if found.attempt.outcome not in _RIGHT or found.attempt.rule in _NOT_COMPARED:
        return found
    warm = _Process(test=test, number=number, unstarted=unstarted, folder=folder, into=second, after=found.facts)
    status = apart.forked(warm.run)
    if status == ChildExit.UNUSABLE:
        return replace(found, attempt=_unusable(found.attempt))
    return status or _both(found, _read(second))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Process:
    """What one of the two processes does; `after` are the facts of the first one, for the second."""

    test: PlannedTest
    number: int
    unstarted: Unstarted
    folder: Path
    into: Path
    after: Facts | None = None

    def run(self) -> None:
        """Start the device with the test's own cache, run, leave the result. Exits as the worker does without one."""
        os.environ[CACHE_URL] = str(self.folder / "graphs")
        os.environ[FLAGS] = re.sub(r"--cache_dir[= ]\S+", "", os.environ.get(FLAGS, ""))
        bench = self.unstarted.start()
        if self.after is None:
            bench.journal.begin(self.test.key, self.number)
        with running.quiet():
            result = self._result(bench)
        partial = self.into.with_suffix(".partial")
        partial.write_bytes(pickle.dumps(result))
        partial.replace(self.into)

    def _result(self, bench: Bench) -> Result:
        made = self.after or Facts(key=self.test.key, number=self.number)
        trial = running.trial(self.test, bench, msgspec.structs.replace(made, seconds={}, differences=[]))
        mode = compiled.warm if self.after else compiled.cold
        try:
            attempt = mode(trial, simulated=targets.get(bench.target).simulated)
        except Exception as error:
            attempt = classify.not_prepared(error, running.NOT_PREPARED)
        return Result(attempt=attempt, facts=trial.facts)


def _read(path: Path) -> Result:
    found: Result = pickle.loads(path.read_bytes())
    return found


def _end(test: PlannedTest, unstarted: Unstarted, found: Result) -> None:
    facts.append(Path(test.where).parent, found.facts)
    unstarted.journal.end(test.key, classify.apply_expected(found.attempt, test.expected), unstarted.number(test.key))


def _both(cold: Result, warm: Result) -> Result:
    """The worse of both attempts, with what both took and saw; the cold one's differences when it is that one."""
    first, second = cold.attempt, warm.attempt
    worse = first if BADNESS[first.outcome] > BADNESS[second.outcome] else second
    attempt = replace(
        worse, stage=second.stage, seconds=_sum(first.seconds, second.seconds), reached=_reached(first, second),
        fallback_ops=tuple(sorted({*first.fallback_ops, *second.fallback_ops})),
        message=_message(cold, warm),
    )  # fmt: skip
    made = msgspec.structs.replace(
        warm.facts, seconds=_sum(cold.facts.seconds, warm.facts.seconds),
        differences=cold.facts.differences if worse is first else warm.facts.differences,
    )  # fmt: skip
    return Result(attempt=attempt, facts=made)


def _message(cold: Result, warm: Result) -> str:
    """Both messages; of a warm process that was right only what it adds."""
    added, made = warm.attempt.message, warm.facts.compiled
    if warm.attempt.outcome in _RIGHT and made is not None and made.warm is not None:
        added = compiled.told(made.warm, "warm")
    return f"{cold.attempt.message}\n{added}"


def _sum(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in (*one, *other)}


def _reached(one: Attempt, other: Attempt) -> Reached | None:
    if one.reached is None or other.reached is None:
        return one.reached or other.reached
    return Reached(
        executed=one.reached.executed | other.reached.executed, fallback=one.reached.fallback | other.reached.fallback
    )


def _unusable(cold: Attempt) -> Attempt:
    """The device was right for the cold process and could not be had for the warm one: that is the machine's doing."""
    why = "the device could not be used by the process that was to compile warm"
    return replace(cold, outcome=Outcome.INFRA, rule="device-unusable", ran_on=RanOn.UNKNOWN, message=why)
