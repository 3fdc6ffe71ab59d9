"""The journal of a run: what each process appended while it worked. Writing, reading and following.

One file a process, JSON lines, each record one os.write, fdatasync at most once a second. A torn last line is
what a killed process leaves; it is passed over.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from conformance import opsets
from conformance.opsets import LONGEST_NAME, Names, Numbering, Reach, Taken
from conformance.outcomes import Attempt, Outcome, RanOn, Reached, Source, Stage

LONGEST_DETAIL = 16_384
LONGEST_MESSAGE = 1_000


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag_field="e", tag="begin"):
    """A test was started. `t` is its identity, `at` seconds since the epoch, `n` the attempt from 1."""

    t: str
    n: int
    at: float
    pid: int


class Staged(msgspec.Struct, frozen=True, kw_only=True, tag_field="e", tag="stage"):
    """The open test went on to another stage."""

    t: str
    s: Stage
    at: float


class End(msgspec.Struct, frozen=True, kw_only=True, tag_field="e", tag="end", omit_defaults=True):
    """An attempt ended: outcome, rule, ran_on, stage, seconds, message, cause, code, fallback ops, detail.

    `w` is who in PyTorch decided it, and where; `u` names the Reach record with the ops that it took. `y` is what
    the test left changed, `a` that it ran alone in its process, `z` the run that it is taken over from.
    """

    t: str
    n: int
    at: float
    o: Outcome
    r: str = ""
    on: RanOn = RanOn.UNKNOWN
    s: Stage = Stage.SETUP
    d: dict[str, float] = {}
    m: str = ""
    c: str = ""
    k: str = ""
    f: tuple[str, ...] = ()
    x: str = ""
    w: Source | None = None
    u: str = ""
    y: tuple[str, ...] = ()
    a: bool = False
    z: str = ""

    def attempt(self) -> Attempt:
        """The attempt that this record tells of."""
        return Attempt(
            outcome=self.o, rule=self.r, ran_on=self.on, stage=self.s, seconds=self.d, message=self.m,
            cause=self.c, code=self.k, fallback_ops=self.f, detail=self.x, source=self.w, leaked=self.y,
            alone=self.a, reused=self.z,
        )  # fmt: skip


class Session(msgspec.Struct, frozen=True, kw_only=True, tag_field="e", tag="session"):
    """What befell the process itself. An open test before `closed` was interrupted, not crashed.

    `state` is opened, ready (the device is activated), unusable (it is not; `why` says what is wrong) or closed.
    """

    state: str
    at: float
    why: str = ""


Record = Begin | Staged | End | Names | Reach | Session


def end_record(key: str, number: int, attempt: Attempt, reach: str = "") -> End:
    """The record of an attempt, texts cut to what a journal keeps; `reach` is the `u` of its Reach record."""
    return End(
        t=key, n=number, at=time.time(), o=attempt.outcome, r=attempt.rule, on=attempt.ran_on, s=attempt.stage,
        d={phase: round(seconds, 6) for phase, seconds in attempt.seconds.items()},
        m=clean(attempt.message, LONGEST_MESSAGE), c=clean(attempt.cause, LONGEST_MESSAGE), k=attempt.code,
        f=tuple(sorted(attempt.fallback_ops)), x=clean(attempt.detail, LONGEST_DETAIL), w=_cleaned(attempt.source),
        u=reach, y=tuple(clean(each, LONGEST_NAME) for each in attempt.leaked), a=attempt.alone,
        z=attempt.reused,
    )  # fmt: skip


def _cleaned(source: Source | None) -> Source | None:
    if source is None:
        return None
    return Source(**{each.name: clean(getattr(source, each.name), LONGEST_MESSAGE) for each in fields(Source)})


def clean(text: str, longest: int) -> str:
    """Foreign text fit to keep: valid UTF-8 without NUL, cut in the middle with a note of what is missing."""
    text = text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


class Journal:
    """Appends records to one file. Use as a context manager; not shared between processes.

    `ended` is called after each attempt is written, with its outcome. `alone` marks each attempt as made in a process
    without other tests.
    """

    def __init__(self, path: Path, ended: Callable[[Outcome], None] | None = None, *, alone: bool = False) -> None:
        self._ended = ended
        self._alone = alone
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._encoder = msgspec.json.Encoder()
        self._synced = 0.0
        self._opened: int | None = None
        self._sets = Numbering()
        self._write(Session(state="opened", at=time.time()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close("" if kind is None else kind.__name__)

    def begin(self, key: str, number: int = 1) -> None:
        """Record that a test is started."""
        self._opened = os.lseek(self._file, 0, os.SEEK_END)
        self._write(Begin(t=key, n=number, at=time.time(), pid=os.getpid()))

    def stage(self, key: str, stage: Stage) -> None:
        """Record that the open test went on to another stage."""
        self._write(Staged(t=key, s=stage, at=time.time()))

    def end(self, key: str, attempt: Attempt, number: int = 1) -> None:
        """Record how an attempt ended."""
        attempt = replace(attempt, alone=True) if self._alone else attempt
        self._write(end_record(key, number, attempt, self._reach(attempt.reached)))
        self._opened = None
        if self._ended is not None:
            self._ended(attempt.outcome)

    def _reach(self, reached: Reached | None) -> str:
        """The name of a set of ops, which is written when it is new here."""
        if reached is None:
            return ""
        name, records = self._sets.take(reached)
        for each in records:
            self._write(each)
        return name

    def note(self, state: str, why: str = "") -> None:
        """Record what befell the process itself."""
        self._write(Session(state=state, at=time.time(), why=clean(why, LONGEST_MESSAGE)))

    def withdraw(self) -> None:
        """Take back what was written of an open test, as a full disk allows: its begin alone would tell of a crash."""
        if self._opened is not None:
            os.ftruncate(self._file, self._opened)

    def close(self, why: str = "") -> None:
        """Say that this process ended in good order and close the file."""
        self.note("closed", why)
        os.fdatasync(self._file)
        os.close(self._file)

    def _write(self, record: Record) -> None:
        line = self._encoder.encode(record) + b"\n"
        written = os.write(self._file, line)
        if written != len(line):
            raise OSError(
                28, f"only {written} of {len(line)} bytes of a journal record were written: is the disk full?"
            )
        now = time.monotonic()
        if now - self._synced > 1.0:
            os.fdatasync(self._file)
            self._synced = now


_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


def decode(line: bytes) -> Record | None:
    """The record on a line; None for a torn or foreign line."""
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, ValueError):
        return None


def read(path: Path) -> Iterator[Record]:
    """All whole records of one journal, in order."""
    return iter(_parse(path.read_bytes(), _DECODER))


def ends(data: bytes) -> list[End]:
    """The ended attempts among the records of one journal, in order: half the work of reading them all."""
    lines = [line for line in data.split(b"\n") if line.startswith(_END)]
    return _parse(b"\n".join(lines), _END_DECODER)


def sets(data: bytes) -> dict[str, Taken]:
    """The sets of ops among the records of one journal, by the name that attempts give."""
    reading = opsets.Sets()
    for record in _parse(b"\n".join(opsets.lines(data)), _SET_DECODER):
        reading.take(record)
    return reading.found


_SET_DECODER: msgspec.json.Decoder[Names | Reach] = msgspec.json.Decoder(Names | Reach)
_END = b'{"e":"end"'
_END_DECODER: msgspec.json.Decoder[End] = msgspec.json.Decoder(End)
_R = TypeVar("_R")


def _parse(data: bytes, decoder: msgspec.json.Decoder[_R]) -> list[_R]:
    try:
        # One call for the whole file is three times as fast as one a line, and a journal is seldom torn.
        return decoder.decode_lines(data)
    except (msgspec.DecodeError, ValueError):
        return [record for line in data.split(b"\n") for record in _whole(line, decoder)]


def _whole(line: bytes, decoder: msgspec.json.Decoder[_R]) -> list[_R]:
    try:
        return [decoder.decode(line)]
    except (msgspec.DecodeError, ValueError):
        return []


class Follower:
    """Reads what was appended to a journal since the last call."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def new(self) -> list[Record]:
        """The whole records appended since the last call; none while the file is absent."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [record for line in whole.splitlines() if (record := decode(line)) is not None]
