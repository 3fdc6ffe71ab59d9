"""Run bundles: a run's plan, outcomes, environment and expectation files in one archive with checksums.

Anybody can make one on their own machine; whoever gets it can verify it and store it beside their own runs. An archive
comes from a stranger: nothing of it is written before all of it was checked.
"""

import errno
import gzip
import hashlib
import io
import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import msgspec

from conformance import plan
from conformance.errors import StoreError, UsageError
from conformance.expectations import Chosen
from conformance.expectations import files as expectation_files
from conformance.outcomes import Outcome
from conformance.plan import RunHeader
from conformance.record import RunFolder, read_results

FORMAT: Final = "neuron-conformance-run/1"
MANIFEST: Final = "MANIFEST.json"
LARGEST: Final = 4 << 30
"""Bytes of all files of a bundle together, unpacked."""
MOST: Final = 10_000
"""Files of a bundle."""

_NAME: Final = re.compile(
    r"run\.json|plan\.jsonl|overloads\.json|journal/[A-Za-z0-9][\w.-]*\.jsonl|expectations/\d+-[\w.-]+"
)
_RUN: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,199}")
_NEEDED: Final = ("run.json", "plan.jsonl")
_BLOCK: Final = 1 << 20


class Sum(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file of a bundle."""

    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a bundle says of itself. `outcomes` are counts by word and add up to `planned`; `files` are all others."""

    format: str
    run: str
    target: str
    release: str
    simulated: bool
    torch: str
    planned: int
    plan_digest: str
    outcomes: dict[str, int]
    files: dict[str, Sum]

    @property
    def digest(self) -> str:
        """SHA-256 over all that the manifest says: what to publish beside a bundle, 64 hexadecimal digits."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A file to be put into a bundle; its bytes are read once, since a run may still go on."""

    name: str
    data: bytes


def write(folder: RunFolder, target: Path) -> Manifest:
    """Make the bundle of a run's folder, the same bytes each time. Raises UsageError for a folder that is not whole.

    Expectation files are included as long as they still are what the run was told.
    """
    header = folder.read_header()
    members = [*_members(folder), *_expectations(header)]
    made = _manifest(folder, header, {each.name: _sum(each.data) for each in members})
    partial = target.with_name(f".{target.name}.partial")
    try:
        with (
            partial.open("wb") as raw,
            gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for each in (Member(name=MANIFEST, data=_encoded(made)), *members):
                _add(archive, each, header)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return made


def _members(folder: RunFolder) -> Iterator[Member]:
    for path in (folder.header, folder.plan, folder.overloads, *sorted(folder.journals.glob("*.jsonl"))):
        if path.is_file():
            yield Member(name=path.relative_to(folder.path).as_posix(), data=path.read_bytes())


def _expectations(header: RunHeader) -> Iterator[Member]:
    told = Chosen.of_facts(header.environment)
    try:
        same = told.digest() == header.fingerprint.get("expectation files", "")
    except UsageError:
        same = False
    paths = told.paths(header.target) if same else tuple(filter(None, [expectation_files.shipped(header.target)]))
    for number, path in enumerate(paths):
        yield Member(name=f"expectations/{number}-{re.sub(r'[^A-Za-z0-9_.-]', '_', path.name)}", data=path.read_bytes())


def _sum(data: bytes) -> Sum:
    return Sum(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _encoded(made: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(made)) + b"\n"


def _manifest(folder: RunFolder, header: RunHeader, files: Mapping[str, Sum]) -> Manifest:
    counted = Counter(each.outcome for each in read_results(folder))
    return Manifest(
        format=FORMAT, run=header.run, target=header.target, release=header.release, simulated=header.simulated,
        torch=header.fingerprint.get("torch", ""), planned=header.planned, plan_digest=header.plan_digest,
        outcomes={each.word: counted[each] for each in Outcome if counted[each]}, files=dict(files),
    )  # fmt: skip


def _add(archive: tarfile.TarFile, member: Member, header: RunHeader) -> None:
    entry = tarfile.TarInfo(member.name)
    entry.size, entry.mtime, entry.mode = len(member.data), int(header.started), 0o644
    archive.addfile(entry, io.BytesIO(member.data))


def unpack(bundle: Path, into: Path) -> Manifest:
    """Check a bundle and write its files into an empty folder. Raises UsageError naming what is wrong with it.

    StoreError when the disk is full. What was written until it is refused is for the caller to delete.
    """
    try:
        with tarfile.open(bundle, "r|gz") as archive:
            made = _unpacked(bundle, archive, into)
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(f"the bundle {bundle} cannot be unpacked: {error.strerror}") from error
        raise _refused(bundle, f"it cannot be read: {error}") from error
    try:
        _check_run(bundle, made, RunFolder(path=into))
    except (msgspec.MsgspecError, ValueError, KeyError) as error:
        raise _refused(bundle, f"its records cannot be read: {error}") from error
    return made


def _unpacked(bundle: Path, archive: tarfile.TarFile, into: Path) -> Manifest:
    first = archive.next()
    if first is None or first.name != MANIFEST or not first.isreg() or first.size > _BLOCK * 8:
        raise _refused(bundle, f"its first file is not {MANIFEST}")
    made = _read_manifest(bundle, _stream(archive, first).read())
    left = dict(made.files)
    while (entry := archive.next()) is not None:
        said = left.pop(entry.name, None)
        if said is None or entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise _refused(bundle, f"it has {entry.name!r}, which its manifest does not name, or names once")
        if entry.size != said.bytes:
            raise _refused(bundle, f"{entry.name!r} has {entry.size:,} bytes, the manifest says {said.bytes:,}")
        if _copied(_stream(archive, entry), into / entry.name) != said.sha256:
            raise _refused(bundle, f"{entry.name!r} is not what the manifest's checksum is of")
    if left:
        raise _refused(bundle, f"{min(left)!r} is missing")
    return made


def _stream(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    stream = archive.extractfile(entry)
    assert stream is not None
    return stream


def _copied(stream: IO[bytes], place: Path) -> str:
    place.parent.mkdir(parents=True, exist_ok=True)
    hashed = hashlib.sha256()
    with place.open("xb") as file:
        while block := stream.read(_BLOCK):
            hashed.update(block)
            file.write(block)
    return hashed.hexdigest()


def _read_manifest(bundle: Path, data: bytes) -> Manifest:
    try:
        made = msgspec.json.decode(data, type=Manifest)
    except msgspec.DecodeError as error:
        raise _refused(bundle, f"its manifest is broken: {error}") from error
    if made.format != FORMAT:
        raise _refused(bundle, f"its format is {made.format!r}, this program reads {FORMAT!r}")
    if not _RUN.fullmatch(made.run):
        raise _refused(bundle, f"its run's id {made.run[:80]!r} is no name of a folder")
    for name in made.files:
        if not _NAME.fullmatch(name):
            raise _refused(bundle, f"its manifest names {name[:80]!r}, which is no file of a run")
    if missing := [each for each in _NEEDED if each not in made.files]:
        raise _refused(bundle, f"its manifest does not name {missing[0]!r}")
    if len(made.files) > MOST or sum(max(0, each.bytes) for each in made.files.values()) > LARGEST:
        raise _refused(bundle, f"it unpacks to more than {MOST:,} files or {LARGEST:,} bytes")
    return made


def _check_run(bundle: Path, made: Manifest, folder: RunFolder) -> None:
    """The manifest, the header, the plan and the journals must tell of the same run."""
    header = folder.read_header()
    digest = plan.digest(plan.read(folder.plan))
    if digest != header.plan_digest:
        raise _refused(bundle, f"its plan has the digest {digest}, its header says {header.plan_digest}")
    found = _manifest(folder, header, made.files)
    for name in Manifest.__struct_fields__:
        said, is_so = getattr(made, name), getattr(found, name)
        if said != is_so:
            raise _refused(bundle, f"its manifest says {name} {said!r}, its files {is_so!r}")


def _refused(bundle: Path, why: str) -> UsageError:
    return UsageError(f"the bundle {bundle} is refused: {why}")
