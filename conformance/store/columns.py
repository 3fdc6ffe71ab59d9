"""A run's folder as columns: what ingest needs of every planned test, in plan order."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import msgspec
import numpy as np
from numpy.typing import NDArray

from conformance import journal, plan, record, settlement
from conformance.errors import UsageError
from conformance.journal import End
from conformance.outcomes import Outcome, Phase, RanOn, Source, order_dependent, settle, status_byte
from conformance.plan import Decision, PlannedTest, RunHeader
from conformance.record import RunFolder
from conformance.store.vectors import RAN_ON, STAGES, encode_seconds

_KEPT: frozenset[Outcome] = frozenset(
    {
        Outcome.XFAIL, Outcome.COMPILE_FAIL, Outcome.COMPILE_TIMEOUT, Outcome.FAIL, Outcome.ERROR, Outcome.TIMEOUT,
        Outcome.CRASH, Outcome.INFRA, Outcome.INVALID,
    }
)  # fmt: skip
"""Outcomes whose attempts are kept one by one, besides every test with more than one attempt."""

_IS_KEPT = tuple(code in _KEPT for code in range(max(Outcome) + 1))


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
    order_dependent: NDArray[np.uint8]
    kept: Sequence[Attempted]
    finished: float
    digest: str

    def texts(self, name: str) -> list[str]:
        """A column of phrases, as recorded, by its name in `vectors.PHRASES`."""
        if name == "fallback":
            return [fallback_phrase(each.f) if each.f else "" for each in self.shown]
        if name == "source":
            return [source_phrase(each.w) if each.w else "" for each in self.shown]
        if name == "leaked":
            return ["\n".join(each.y) if each.y else "" for each in self.shown]
        return list(map(attrgetter(_FIELDS[name]), self.shown))

    def sides(self) -> dict[str, NDArray[np.generic]]:
        """The columns of numbers: ran_on, stage, attempts, probed and the seconds of each phase that was measured."""
        places = {word: number for number, word in enumerate(RAN_ON)}
        stages = {word: number for number, word in enumerate(STAGES)}
        size, measured = len(self.shown), [each.d for each in self.shown]
        made: dict[str, NDArray[np.generic]] = {
            "ran_on": np.fromiter([places[each.on] for each in self.shown], np.uint8, size),
            "stage": np.fromiter([stages[each.s] for each in self.shown], np.uint8, size),
            "attempts": self.attempts,
            "order_dependent": self.order_dependent,
            "probed": np.fromiter([each.probed is not None for each in self.tests], np.uint8, size),
        }
        for phase in set().union(*measured) & {each.value for each in Phase}:
            seconds = np.fromiter([each.get(phase, 0.0) for each in measured], np.float64, size)
            made[f"seconds.{phase}"] = encode_seconds(seconds)
        return made


_FIELDS = {"rule": "r", "cause": "c", "code": "k", "message": "m", "reused": "z"}


def storable(text: str) -> str:
    """Text that PostgreSQL can hold: without NUL and lone surrogates."""
    if "\0" in text:
        text = text.replace("\0", "\\0")
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def fallback_phrase(ops: Iterable[str]) -> str:
    """A set of ops as one text: sorted, a line each."""
    return "\n".join(sorted(ops))


def source_phrase(source: Source) -> str:
    """A source as one text, the same for equal ones."""
    return msgspec.json.encode(source).decode()


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    """The bytes of a run's folder, read once, so that what is hashed is what is stored."""

    folder: RunFolder
    header: RunHeader
    journals: tuple[bytes, ...]
    digest: str


def load(folder: RunFolder) -> Files:
    """Read a run's files. Raises UsageError when the folder is not a run's."""
    header = folder.read_header()
    try:
        journals = tuple(each.read_bytes() for each in sorted(folder.journals.glob("*.jsonl")))
        whole = hashlib.blake2b(folder.header.read_bytes() + folder.plan.read_bytes(), digest_size=16)
    except OSError as error:
        raise UsageError(f"{folder.path} is not the folder of a run: {error.filename}: {error.strerror}") from error
    for each in journals:
        whole.update(each)
    return Files(folder=folder, header=header, journals=journals, digest=whole.hexdigest())


def read(files: Files) -> Columns:
    """A run as columns. Raises UsageError when its plan and its header disagree."""
    tests = plan.read(files.folder.plan)
    keys = [each.key for each in tests]
    stored = [storable(each) for each in keys]
    _require_sound(files, stored)
    joined = _join(tests, keys, _ended(files))
    return Columns(
        header=files.header, tests=tests, keys=stored,
        status=np.array(joined.status, np.uint8), definition=definitions(tests), shown=joined.shown,
        attempts=np.minimum(joined.attempts, 255).astype(np.uint8), kept=joined.kept,
        order_dependent=np.array(joined.order_dependent, np.uint8),
        finished=max((each.at for each in joined.shown), default=0.0) or files.header.started, digest=files.digest,
    )  # fmt: skip


def _require_sound(files: Files, keys: Sequence[str]) -> None:
    path, said = files.folder.path, files.header.planned
    if said != len(keys):
        raise UsageError(f"{path} is damaged: its plan has {len(keys)} tests and run.json says {said}; run it again")
    if len(set(keys)) != len(keys):
        raise UsageError(f"{path} is damaged: two planned tests have one identity; run it again")


def _ended(files: Files) -> Mapping[str, tuple[End, ...]]:
    """Every test's attempts in the order of their numbers."""
    if not files.header.supervised:
        attempts = record.read_attempts(files.folder)
        record.close_open(attempts)
        return {key: _in_order(numbered) for key, numbered in attempts.ended.items()}
    ends = [each for data in files.journals for each in journal.ends(data)]
    single = {each.t: (each,) for each in ends}
    if len(single) == len(ends):
        return single
    numbered: dict[str, dict[int, End]] = {}
    for each in ends:
        numbered.setdefault(each.t, {})[each.n] = each
    return {key: _in_order(found) for key, found in numbered.items()}


def _in_order(numbered: Mapping[int, End]) -> tuple[End, ...]:
    return tuple(numbered[each] for each in sorted(numbered))


@dataclass(slots=True)
class _Joined:
    """Columns while they grow: the record that each outcome comes from, its byte, attempts made, attempts kept."""

    shown: list[End] = field(default_factory=list)
    status: list[int] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)
    order_dependent: list[bool] = field(default_factory=list)
    kept: list[Attempted] = field(default_factory=list)


def _join(tests: Sequence[PlannedTest], keys: Sequence[str], ended: Mapping[str, tuple[End, ...]]) -> _Joined:
    joined = _Joined()
    for place, (test, key) in enumerate(zip(tests, keys, strict=True)):
        made = ended.get(key, ()) if test.decided is None else (_decided(test.decided),)
        if test.decided is None and (test.probed is not None or test.expected is not None):
            end, outcome, flaky = _settled(test, made)
        elif len(made) == 1:
            end, outcome, flaky = made[0], made[0].o, False
        else:
            outcome, flaky = settle(each.o for each in made)
            end = next((each for each in made if each.o is outcome), _NEVER_RUN)
        joined.shown.append(end)
        joined.status.append(status_byte(outcome, flaky))
        joined.attempts.append(len(made))
        joined.order_dependent.append(flaky and order_dependent((each.o, each.a) for each in made))
        if test.decided is None and (len(made) > 1 or _IS_KEPT[outcome] or test.probed is not None):
            joined.kept.extend(Attempted(place=place, end=each) for each in made)
    return joined


def _settled(test: PlannedTest, made: tuple[End, ...]) -> tuple[End, Outcome, bool]:
    """A test that was probed or expected to fail: what stands may be another outcome than any attempt's."""
    found = settlement.settled(test, [each.attempt() for each in made])
    last = made[-1] if made else _NEVER_RUN
    end = journal.end_record(last.t, last.n, found.shown)
    return msgspec.structs.replace(end, at=last.at, u=last.u), found.outcome, found.flaky


_NEVER_RUN = End(t="", n=0, at=0.0, o=Outcome.NOT_RUN)


def _decided(made: Decision) -> End:
    return End(t="", n=1, at=0.0, o=made.outcome, r=made.rule, on=RanOn.NONE, m=made.reason, w=made.source)


def definitions(tests: Iterable[PlannedTest]) -> NDArray[np.uint64]:
    """Eight bytes a test of what its definition hash says; zero is never one of them."""
    hashed = hashlib.blake2b
    whole = b"".join([hashed(each.definition.encode("utf-8", "replace"), digest_size=8).digest() for each in tests])
    hashes: NDArray[np.uint64] = np.maximum(np.frombuffer(whole, "<u8"), 1).astype(np.uint64)
    return hashes
