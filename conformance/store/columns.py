"""A run's folder as columns: what ingest needs of every planned test, in plan order."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from conformance import plan, record
from conformance.errors import UsageError
from conformance.journal import End
from conformance.outcomes import FLAKY, Outcome, Phase, RanOn, settle
from conformance.plan import PlannedTest, RunHeader
from conformance.record import RunFolder
from conformance.store.vectors import RAN_ON, STAGES, encode_seconds

_KEPT: frozenset[Outcome] = frozenset(
    {
        Outcome.XFAIL, Outcome.COMPILE_FAIL, Outcome.COMPILE_TIMEOUT, Outcome.FAIL, Outcome.ERROR, Outcome.TIMEOUT,
        Outcome.CRASH, Outcome.INFRA, Outcome.INVALID,
    }
)  # fmt: skip
"""Outcomes whose attempts are kept one by one, besides every test with more than one attempt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempted:
    """One attempt that is kept as a row: the test's place in the plan and the record."""

    place: int
    end: End


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """A run as columns of equal length. `shown` is the record that each outcome comes from."""

    header: RunHeader
    tests: Sequence[PlannedTest]
    keys: Sequence[str]
    status: NDArray[np.uint8]
    definition: NDArray[np.uint64]
    shown: Sequence[End]
    attempts: NDArray[np.uint8]
    kept: Sequence[Attempted]
    finished: float
    digest: str

    def texts(self, name: str) -> list[str]:
        """A column of phrases, as stored: "rule", "cause", "code", "message" or "fallback"."""
        take = _TEXTS[name]
        return [take(each) for each in self.shown]

    def sides(self) -> dict[str, NDArray[np.generic]]:
        """The columns of numbers: ran_on, stage, attempts and the seconds of each phase that was measured."""
        places = {word: number for number, word in enumerate(RAN_ON)}
        stages = {word: number for number, word in enumerate(STAGES)}
        size = len(self.shown)
        made: dict[str, NDArray[np.generic]] = {
            "ran_on": np.fromiter((places[each.on] for each in self.shown), np.uint8, size),
            "stage": np.fromiter((stages[each.s] for each in self.shown), np.uint8, size),
            "attempts": self.attempts,
        }
        for phase in Phase:
            seconds = np.fromiter((each.d.get(phase, 0.0) for each in self.shown), np.float64, size)
            made[f"seconds.{phase.value}"] = encode_seconds(seconds)
        return made


def storable(text: str) -> str:
    """Text that PostgreSQL can hold: without NUL and lone surrogates."""
    if "\0" in text:
        text = text.replace("\0", "\\0")
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def fallback_phrase(ops: Iterable[str]) -> str:
    """A set of ops as one text: sorted, a line each."""
    return "\n".join(sorted(ops))


_TEXTS: dict[str, Callable[[End], str]] = {
    "rule": lambda end: end.r,
    "cause": lambda end: end.c,
    "code": lambda end: end.k,
    "message": lambda end: end.m,
    "fallback": lambda end: fallback_phrase(end.f) if end.f else "",
}


def read(folder: RunFolder) -> Columns:
    """Read a run's folder. Raises UsageError when it is not one, or when plan and header disagree."""
    header = folder.read_header()
    try:
        tests = plan.read(folder.plan)
        attempts = record.read_attempts(folder)
    except OSError as error:
        raise UsageError(f"{folder.path} is not the folder of a run: {error}") from error
    if not header.supervised:
        record.close_open(attempts)
    keys = [storable(each.key) for each in tests]
    _require_sound(folder, header, keys)
    return _join(folder, header, tests, keys, attempts.ended)


def _require_sound(folder: RunFolder, header: RunHeader, keys: Sequence[str]) -> None:
    if header.planned != len(keys):
        raise UsageError(
            f"{folder.path} is damaged: its plan has {len(keys)} tests and run.json says {header.planned}; run it again"
        )
    if len(set(keys)) != len(keys):
        raise UsageError(f"{folder.path} is damaged: two planned tests have one identity; run it again")


def _join(
    folder: RunFolder,
    header: RunHeader,
    tests: Sequence[PlannedTest],
    keys: Sequence[str],
    ended: dict[str, dict[int, End]],
) -> Columns:
    shown: list[End] = []
    status, counted = np.zeros(len(tests), np.uint8), np.ones(len(tests), np.uint8)
    kept: list[Attempted] = []
    for place, test in enumerate(tests):
        made = _ends(test, ended)
        outcome, flaky = (made[0].o, False) if len(made) == 1 else settle(each.o for each in made)
        shown.append(_shown(made, outcome))
        status[place] = outcome | (FLAKY if flaky else 0)
        counted[place] = min(len(made), 255)
        if test.decided is None and (len(made) > 1 or outcome in _KEPT):
            kept.extend(Attempted(place=place, end=each) for each in made)
    return Columns(
        header=header, tests=tests, keys=keys, status=status, definition=definitions(tests), shown=shown,
        attempts=counted, kept=kept, finished=max((each.at for each in shown), default=0.0) or header.started,
        digest=_digest(folder, shown, kept),
    )  # fmt: skip


def _ends(test: PlannedTest, ended: dict[str, dict[int, End]]) -> list[End]:
    if (decided := test.decided) is not None:
        return [
            End(t=test.key, n=1, at=0.0, o=decided.outcome, r=decided.rule, on=RanOn.NONE, m=decided.reason)
        ]  # fmt: skip
    numbered = ended.get(test.key)
    if not numbered:
        return []
    return list(numbered.values()) if len(numbered) == 1 else [numbered[each] for each in sorted(numbered)]


_NOT_RUN = End(t="", n=0, at=0.0, o=Outcome.NOT_RUN)


def _shown(made: Sequence[End], outcome: Outcome) -> End:
    for each in made:
        if each.o is outcome:
            return each
    return _NOT_RUN


def definitions(tests: Iterable[PlannedTest]) -> NDArray[np.uint64]:
    """Eight bytes a test of what its definition hash says; zero is never one of them."""
    whole = b"".join(
        hashlib.blake2b(each.definition.encode("utf-8", "replace"), digest_size=8).digest() for each in tests
    )
    hashes: NDArray[np.uint64] = np.maximum(np.frombuffer(whole, "<u8"), 1).astype(np.uint64)
    return hashes


def _digest(folder: RunFolder, shown: Iterable[End], kept: Iterable[Attempted]) -> str:
    """What the run says, as a hash: equal when nothing would change by storing it again."""
    encoder, whole = msgspec.json.Encoder(), hashlib.blake2b(digest_size=16)
    whole.update(folder.header.read_bytes())
    whole.update(folder.plan.read_bytes())
    for each in shown:
        whole.update(encoder.encode(each))
    for row in kept:
        whole.update(encoder.encode(row.end))
    return whole.hexdigest()
