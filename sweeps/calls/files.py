"""Calls in a run's folder, as JSON lines: each distinct call once a file, models by the numbers of their calls.

A suite's processes write one file each. A torn last line, which a killed process leaves, is passed over.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from conformance.errors import UsageError
from sweeps import lines
from sweeps.calls.recording import Counted, wider
from sweeps.calls.specs import Bounds, Call

PATTERN: Final = "calls-*.jsonl"
"""The files of a suite, in its folder beside the plan."""
FULL: Final = "full-width.jsonl"
"""The calls of complete models, in the same form."""


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="e", tag="call", omit_defaults=True):
    """A call that is new in this file, numbered `i`; `h` is its digest, `b` the bounds of its tensors."""

    i: int
    h: str
    op: str
    a: tuple[object, ...] = ()
    k: dict[str, object] = {}
    b: tuple[Bounds, ...] = ()


class Wider(msgspec.Struct, frozen=True, kw_only=True, tag_field="e", tag="bounds"):
    """A call that was made with values outside of its bounds so far."""

    i: int
    b: tuple[Bounds, ...]


class Made(msgspec.Struct, frozen=True, kw_only=True, tag_field="e", tag="model", omit_defaults=True):
    """The calls of a signature in a dtype: numbers `c`, how often each `n`. `level` is that of Facts.

    `why` says why there are none.
    """

    signature: str
    dtype: str
    level: str = ""
    c: tuple[int, ...] = ()
    n: tuple[int, ...] = ()
    why: str = ""


@dataclass(kw_only=True, slots=True)
class Writer:
    """Appends to one file, each line at once."""

    path: Path
    _numbers: dict[str, int] = field(default_factory=dict)
    _bounds: dict[str, tuple[Bounds, ...]] = field(default_factory=dict)
    _models: set[tuple[str, str]] = field(default_factory=set)

    def add(self, signature: str, dtype: str, level: str, calls: Mapping[str, Counted], why: str = "") -> None:
        """Write what a model called, unless this file has it."""
        if (signature, dtype) in self._models:
            return
        self._models.add((signature, dtype))
        new: list[Line | Wider | Made] = []
        for digest, each in calls.items():
            new += self._new(digest, each)
        new.append(
            Made(
                signature=signature, dtype=dtype, level=level, c=tuple(self._numbers[each] for each in calls),
                n=tuple(each.count for each in calls.values()), why=why,
            )
        )  # fmt: skip
        lines.append(self.path, b"".join(msgspec.json.encode(each) + b"\n" for each in new))

    def _new(self, digest: str, each: Counted) -> list[Line | Wider]:
        """What is to be written so that the file has a call with its bounds."""
        number = self._numbers.get(digest)
        if number is None:
            number = self._numbers[digest] = len(self._numbers)
            self._bounds[digest] = each.bounds
            call = each.call
            return [Line(i=number, h=digest, op=call.op, a=call.args, k=call.kwargs, b=each.bounds)]
        joined = wider(self._bounds[digest], each.bounds)
        if joined == self._bounds[digest]:
            return []
        self._bounds[digest] = joined
        return [Wider(i=number, b=joined)]


@dataclass(kw_only=True, slots=True)
class Calls:
    """What a run recorded: distinct calls with their bounds by digest; of each (signature, dtype) its calls, counted.

    `whys` says for a model without calls why there are none.
    """

    calls: dict[str, Call] = field(default_factory=dict)
    bounds: dict[str, tuple[Bounds, ...]] = field(default_factory=dict)
    models: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    levels: dict[tuple[str, str], str] = field(default_factory=dict)
    whys: dict[tuple[str, str], str] = field(default_factory=dict)

    def take(self, records: "Iterable[Line | Wider | Made]") -> None:
        """The records of one file, in order."""
        names: dict[int, str] = {}
        for each in records:
            match each:
                case Line():
                    names[each.i] = each.h
                    self.calls.setdefault(each.h, Call(op=each.op, args=each.a, kwargs=each.k))
                    self._widen(each.h, each.b)
                case Wider():
                    self._widen(names[each.i], each.b)
                case Made():
                    self._model(each, names)

    def _widen(self, digest: str, bounds: tuple[Bounds, ...]) -> None:
        self.bounds[digest] = wider(self.bounds.get(digest, ()), bounds)

    def _model(self, made: Made, names: Mapping[int, str]) -> None:
        key = (made.signature, made.dtype)
        if made.why:
            self.whys.setdefault(key, made.why)
            return
        self.levels.setdefault(key, made.level)
        self.models.setdefault(key, {names[number]: count for number, count in zip(made.c, made.n, strict=True)})


_DECODER: Final = msgspec.json.Decoder(Line | Wider | Made)


def read(folder: Path, pattern: str = PATTERN) -> Calls:
    """What the files of a suite's folder hold; nothing where there are none. Raises UsageError for a damaged file."""
    found = Calls()
    for path in sorted(folder.glob(pattern)):
        found.take(_lines(path))
    return found


def _lines(path: Path) -> "list[Line | Wider | Made]":
    try:
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        return _DECODER.decode_lines(whole)
    except (OSError, msgspec.DecodeError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as calls of models: {error}; run the models again") from error


@cache
def _writer(folder: Path, process: int) -> Writer:
    return Writer(path=folder / f"calls-{process}.jsonl")


def append(folder: Path, signature: str, dtype: str, level: str, calls: Mapping[str, Counted], why: str = "") -> None:
    """Write what a model called to this process's file in a suite's folder, once a process."""
    _writer(folder, os.getpid()).add(signature, dtype, level, calls, why)
