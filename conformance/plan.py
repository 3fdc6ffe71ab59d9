"""The plan of a run: every planned test and how it was chosen, written before the first test runs."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec

from conformance.errors import UsageError
from conformance.outcomes import Outcome, Source, TestId

UPSTREAM: Final = "upstream"
"""The suite whose tests are in files that can be named."""
MODELS: Final = "models"
FLEX: Final = "flex_attention"
MODEL_OPS: Final = "model_ops"
_DEVICE: Final = re.compile("[A-Z][A-Z0-9]{2,}")
"""What PyTorch puts behind the name of a class that it makes for a device: CPU, NEURON, PRIVATEUSE1."""
INVALID_MODEL: Final = "invalid"
"""Kind of a planned test that says why models of a catalogue have no signature."""
DEFAULT_MODES: Final = ("eager",)
DEFAULT_DTYPES: Final = ("float32",)
"""What a run of suite models that names no mode or dtype has."""
MODULE: Final = "<module>"
"""Name of the planned test that stands for a file or class without collected tests."""


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An outcome settled while planning (a skip by rule): the test is never started."""

    outcome: Outcome
    rule: str
    reason: str = ""
    source: Source | None = None


class Expected(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A failure that upstream or an expectation file foresees: the test runs, and ends as xfail or xpass.

    `outcome`, `code` (of the compiler) and `exception` (its name) are what the failure must be where they are given;
    one of another kind was not foreseen.
    """

    rule: str
    reason: str = ""
    outcome: Outcome | None = None
    code: str = ""
    exception: str = ""
    source: Source | None = None


class PlannedTest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a plan. `definition` is a hash over what the test is, so that a changed test is seen.

    `probed` is the skip of a test that runs all the same, to see whether the skip is still due. `where` is the file in
    which a suite finds the test again on this machine; it is no part of what was planned.
    """

    id: TestId
    definition: str
    decided: Decision | None = None
    expected: Expected | None = None
    probed: Decision | None = None
    where: str = ""

    @property
    def key(self) -> str:
        """The identity as one string."""
        return self.id.key


class Selection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was asked for. Two runs are comparable test by test where their selections overlap.

    `suites` are names; `ops` and `tests` empty mean all; `profile` is default or full; `shard` is "3/8" or "".
    `files` is what all, or `tests`, came to in a PyTorch source tree: files and folders below its `test`, or one class
    as `test_nn.py::TestNNDeviceType`; empty without a tree. `catalogue`, `modes` and `dtypes` are for suite models: a
    file or folder, "" for the shipped one; empty means DEFAULT_MODES and DEFAULT_DTYPES. `extend_flex_devices` is for
    suite flex_attention: its tests are defined otherwise with it, so that runs with and without it are not compared.
    `calls` is for suite model_ops: the folder of the run whose models' calls are replayed; "" for those of `catalogue`.
    """

    suites: tuple[str, ...]
    profile: str = "default"
    ops: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    shard: str = ""
    files: tuple[str, ...] = ()
    catalogue: str = ""
    modes: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    extend_flex_devices: bool = False
    calls: str = ""

    @property
    def whole(self) -> bool:
        """Whether this is the full selection of its profile, so that it may stand for a release."""
        chosen = self.catalogue or self.modes or self.dtypes or self.calls
        return not (self.ops or self.tests or self.keys or self.shard or chosen)


class RunHeader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """run.json: which run this is and under what it ran. Times are seconds since the epoch, UTC.

    `fingerprint` must be equal for a run to be resumed; `environment` is what is recorded beside it. `supervised`
    is False for a plain pytest session, in which nobody closes the test that a dead process left open.
    """

    run: str
    target: str
    release: str
    simulated: bool
    selection: Selection
    plan_digest: str
    planned: int
    started: float
    fingerprint: dict[str, str] = {}
    environment: dict[str, str] = {}
    supervised: bool = True


def covers(selection: Selection, test: TestId, profile: str) -> bool:
    """Whether a test that a run of `profile` planned lies in a selection too: its absence there then says something.

    A shard says nothing about tests outside it, and a default profile nothing about what only the full one has.
    """
    if selection.shard or selection.profile not in (profile, "full"):
        return False
    if test.suite not in selection.suites and "all" not in selection.suites:
        return False
    if selection.keys and test.key not in selection.keys:
        return False
    if selection.ops and test.op not in selection.ops:
        return False
    if test.suite == MODELS:
        return _covers_model(selection, test)
    if test.suite == MODEL_OPS and (selection.catalogue or selection.dtypes or selection.calls):
        # Other models make other calls.
        return False
    if not (selection.tests or selection.files):
        return True
    elsewhere = set(selection.tests).difference(selection.files)
    in_tree = test.suite == UPSTREAM and any(names_test(each, test) for each in selection.files)
    other_suite = test.suite != UPSTREAM and not selection.tests
    return other_suite or in_tree or any(fits(each, test) for each in elsewhere)


def _covers_model(selection: Selection, test: TestId) -> bool:
    """A catalogue of one's own says nothing about models outside it."""
    modes, dtypes = selection.modes or DEFAULT_MODES, selection.dtypes or DEFAULT_DTYPES
    planned = test.kind == INVALID_MODEL or (test.kind in modes and test.dtype in dtypes)
    return planned and not selection.catalogue


def names_test(entry: str, test: TestId) -> bool:
    """Whether an entry of `Selection.files` is a test's file, a folder above it, or its class.

    A class may be written with the device behind it. Of a file with classes chosen, what stands for a class or file
    that could not be collected belongs to it.
    """
    path, _, part = entry.partition("::")
    path, cls = path.removesuffix(".py").rstrip("/"), part.partition("::")[0]
    if test.file != path and not test.file.startswith(f"{path}/"):
        return False
    return not cls or test.name == MODULE or _same_class(cls, test.cls)


def fits(asked: str, test: TestId) -> bool:
    """Whether a path, `file::Class` or `file::Class::test` as it was asked for means a test.

    Class and test may be written as in identities, or with the device as PyTorch makes them.
    """
    path, _, part = asked.partition("::")
    if not _same_file(path, test.file):
        return False
    if not part or test.name == MODULE:
        return True
    words = part.split("::")
    splits = ((".".join(words[:place]), "::".join(words[place:])) for place in range(len(words), -1, -1))
    return any(_same_class(cls, test.cls) and _same_name(name, cls, test) for cls, name in splits)


def _same_class(written: str, cls: str) -> bool:
    """Whether a class as it is written is that of an identity, the device behind it or not."""
    return written == cls or (bool(cls) and bool(_DEVICE.fullmatch(written.removeprefix(cls))))


def _same_name(written: str, cls: str, test: TestId) -> bool:
    if not written:
        return bool(test.cls)
    device = cls.removeprefix(test.cls).lower()
    return written == test.name or (bool(device) and written.replace(f"_{device}", "", 1) == test.name)


def _same_file(asked: str, file: str) -> bool:
    """Whether a path as it was asked for means a test's file, which may be named from another folder.

    One is the tail of the other; or it is a folder, and its tail is where the file's path starts or passes through.
    """
    paths = (each.removesuffix(".py") for each in (asked.partition("::")[0], file))
    wanted, found = (PurePosixPath(each.replace("\\", "/")).parts for each in paths)
    shorter = min(len(wanted), len(found))
    if not shorter:
        return False
    inside = any(found[start : start + len(wanted)] == wanted for start in range(len(found)))
    starts = any(wanted[-length:] == found[:length] for length in range(1, shorter + 1))
    return wanted[-shorter:] == found[-shorter:] or inside or starts


def storable(test: PlannedTest) -> PlannedTest:
    """The test with text that UTF-8 can hold: a reason is foreign text and may have lone surrogates."""
    try:
        msgspec.json.encode(test)
    except UnicodeEncodeError:
        return msgspec.convert(_mended(msgspec.to_builtins(test)), PlannedTest)
    return test


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return {name: _mended(each) for name, each in value.items()} if isinstance(value, dict) else value


def digest(tests: Iterable[PlannedTest]) -> str:
    """A hash over identities, definitions and decisions, in plan order; equal wherever the test files are."""
    whole = hashlib.blake2b(digest_size=16)
    for each in tests:
        whole.update(msgspec.json.encode(msgspec.structs.replace(each, where="") if each.where else each))
    return whole.hexdigest()


def write(path: Path, tests: Iterable[PlannedTest]) -> None:
    """Write a plan, one test a line, so that it is whole or absent.

    Raises UsageError when two tests map to one identity.
    """
    encoder, seen, lines = msgspec.json.Encoder(), set[str](), []
    for each in map(storable, tests):
        if each.key in seen:
            raise UsageError(f"two planned tests have the identity {each.key!r}: names must be unique within a plan")
        seen.add(each.key)
        lines.append(encoder.encode(each))
    partial = path.with_suffix(".partial")
    partial.write_bytes(b"\n".join(lines) + b"\n" if lines else b"")
    partial.replace(path)


def read(path: Path) -> list[PlannedTest]:
    """Read a plan; a line that is not a planned test raises UsageError with its number."""
    decoder, data = msgspec.json.Decoder(PlannedTest), path.read_bytes()
    try:
        return decoder.decode_lines(data)
    except (msgspec.DecodeError, ValueError):
        return [_decoded(decoder, line, f"{path}:{number}") for number, line in enumerate(data.splitlines(), 1)]


def _decoded(decoder: msgspec.json.Decoder[PlannedTest], line: bytes, place: str) -> PlannedTest:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, ValueError) as error:
        raise UsageError(f"{place} is not a planned test: {error}") from error
