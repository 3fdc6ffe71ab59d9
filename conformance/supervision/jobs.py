"""What a supervisor asks of a child process, and the numbers with which the child ends."""

import signal
from collections.abc import Mapping
from enum import IntEnum
from typing import Final

import msgspec

from conformance.plan import PlannedTest, Selection

SHARE: Final = signal.SIGUSR1
"""Asks a child to end after the test that it is in, so that others get the rest of its tests."""


class ChildExit(IntEnum):
    """Exit statuses of a child, from sysexits.h."""

    FINE = 0
    BROKEN = 70
    """An exception left the suite."""
    DISK = 74
    """The journal could not be written."""
    UNUSABLE = 75
    """The device could not be activated, or its probe failed."""
    STOPPED = 143
    """The supervisor asked the child to stop; its journal is closed."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where and as what a child runs: target, release, the variables of its lease and the file for its output."""

    suite: str
    target: str
    release: str
    variables: Mapping[str, str]
    log: str


class Collect(msgspec.Struct, frozen=True, kw_only=True, tag="collect"):
    """List the planned tests of one suite in the file `plan`, without activating the device.

    `beside` is the folder for what a suite keeps with its plan.
    """

    place: Place
    selection: Selection
    plan: str
    answer: str
    beside: str


class Survey(msgspec.Struct, frozen=True, kw_only=True, tag="survey"):
    """Activate the device, probe it and tell its environment.

    With `overloads` it writes there how the device serves the aten overloads, and what `ops`, as tests name them, are.
    """

    place: Place
    answer: str
    overloads: str = ""
    ops: tuple[str, ...] = ()


class Shard(msgspec.Struct, frozen=True, kw_only=True, tag="shard"):
    """Run tests. `numbers` are the attempts made so far by key; `probe` asks for the device's health first.

    `sample` restricts each test to one of its sample inputs; `alone` says that the one test has the process to itself.
    """

    place: Place
    journal: str
    tests: tuple[PlannedTest, ...]
    numbers: Mapping[str, int]
    probe: bool = False
    sample: int | None = None
    alone: bool = False


Job = Collect | Survey | Shard


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a collect or a survey: one sentence in `error` when it failed, `usage` when the user can mend it."""

    error: str = ""
    usage: bool = False
    environment: dict[str, str] = {}


encode = msgspec.json.Encoder().encode
decode: "msgspec.json.Decoder[Job]" = msgspec.json.Decoder(Job)
decode_answer: "msgspec.json.Decoder[Answer]" = msgspec.json.Decoder(Answer)
