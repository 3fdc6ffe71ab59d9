"""The models of a run, as the files beside its plan tell: plain rows, whoever wrote them.

`models/attribution.jsonl` has a line an entry of the catalogue, `models/signatures.jsonl` and `models/refused.jsonl`
what stands for entries, `models/facts-*.jsonl` what attempts came to in numbers.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from conformance.errors import UsageError

FOLDER: Final = "models"
_EMPTY: Final = msgspec.Raw(b"{}")
_MEASURED: Final = ("key", "number", "seconds", "memory")
"""Of the facts of an attempt: what differs from run to run though nothing has changed, and its name."""


class Stand(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stands for entries of a catalogue: a signature, or the reason why they have none.

    `name` is the signature's id, or the key of the planned test that says why, and then `outcome` is its word. `model`
    is the entry whose complete configuration goes with the signature; `configs` is the digest of both configurations.
    """

    name: str
    architecture: str = ""
    model_type: str = ""
    family: str = ""
    model: str = ""
    configs: str = ""
    outcome: str = ""
    rule: str = ""
    reason: str = ""


class Entries(msgspec.Struct, frozen=True, kw_only=True):
    """A catalogue as columns: of each entry its id, downloads, and the place of its source in `sources`."""

    ids: list[str]
    downloads: list[int]
    source: list[int]
    sources: list[str]


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """Which variant each entry is, and of each variant the place of its stand, and whether it continues text."""

    variant: list[int]
    stand: list[int]
    text: list[bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """What one attempt came to. `body` is JSON that is equal in the next run when nothing has changed."""

    key: str
    number: int
    body: bytes
    seconds: Mapping[str, float]
    memory: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Models:
    """The models of a run. `owns` has a line of JSON a variant, `configs` the configurations by their digest."""

    entries: Entries
    shares: Shares
    owns: bytes
    stands: list[Stand]
    configs: Mapping[bytes, bytes]
    facts: list[Fact]


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    signature: str = ""
    invalid: str = ""
    architecture: str = ""
    downloads: int = 0
    origin: str = ""
    source: str = ""
    text_generation: bool = False
    left_out: list[str] = []
    own: msgspec.Raw = _EMPTY
    lacks: list[str] = []


class _Signature(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    architecture: str
    model_type: str = ""
    family: str = ""
    model: str = ""
    reduced: msgspec.Raw = _EMPTY
    full: msgspec.Raw = _EMPTY


class _Refused(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    outcome: str
    rule: str
    reason: str = ""
    model_type: str = ""
    architecture: str = ""


class Own(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is an entry's own: where its configuration is from, and how it differs from that of its stand's `model`."""

    origin: str = ""
    left_out: list[str] = []
    own: dict[str, Any] = {}
    lacks: list[str] = []


class _RawOwn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    origin: str = ""
    left_out: list[str] = []
    own: msgspec.Raw = _EMPTY
    lacks: list[str] = []


_L = TypeVar("_L", bound=msgspec.Struct)


def read(folder: Path) -> Models | None:
    """The models of a run's folder; None for a run without any. Raises UsageError for files that are damaged."""
    path = folder / FOLDER
    if not (path / "attribution.jsonl").is_file():
        return None
    try:
        configs, stands = _signatures(path / "signatures.jsonl")
        refused = list(_lines(path / "refused.jsonl", _Refused)) if (path / "refused.jsonl").exists() else []
        stands += [_stand(each) for each in refused]
        return _columns(list(_lines(path / "attribution.jsonl", _Line)), stands, configs, _facts(path))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is damaged: {error}; run the models again") from error


def _lines(path: Path, kind: type[_L]) -> Iterator[_L]:
    return iter(msgspec.json.Decoder(kind).decode_lines(path.read_bytes()))


def _signatures(path: Path) -> tuple[dict[bytes, bytes], list[Stand]]:
    configs, stands = {}, []
    for each in _lines(path, _Signature):
        body = b'{"reduced":' + bytes(each.reduced) + b',"full":' + bytes(each.full) + b"}"
        digest = hashlib.blake2b(body, digest_size=16).digest()
        configs[digest] = body
        stands.append(
            Stand(
                name=_named(each.id), architecture=_named(each.architecture), model_type=_named(each.model_type),
                family=_named(each.family or each.model_type), model=_named(each.model), configs=digest.hex(),
            )
        )  # fmt: skip
    return configs, stands


def _named(text: str) -> str:
    """A name without NUL, which neither an address nor the database can hold; as tests' identities are stored."""
    return text.replace("\0", "\\0") if "\0" in text else text


def _stand(each: _Refused) -> Stand:
    return Stand(
        name=_named(each.key), architecture=_named(each.architecture), model_type=_named(each.model_type),
        family=_named(each.model_type),
        outcome=each.outcome, rule=each.rule, reason=each.reason,
    )  # fmt: skip


def _columns(lines: list[_Line], stands: list[Stand], configs: dict[bytes, bytes], facts: list[Fact]) -> Models:
    places = {each.name: place for place, each in enumerate(stands)}
    variants: dict[tuple[str, bool, bytes], int] = {}
    sources: dict[str, int] = {}
    variant, encoder = [], msgspec.json.Encoder()
    for each in lines:
        own = encoder.encode(_RawOwn(origin=each.origin, left_out=each.left_out, own=each.own, lacks=each.lacks))
        key = (_named(each.signature or each.invalid), each.text_generation, own)
        variant.append(variants.setdefault(key, len(variants)))
        if key[0] not in places:
            places[key[0]] = len(stands)
            stands.append(_untold(key[0], each))
    entries = Entries(
        ids=[_named(each.id) for each in lines], downloads=[each.downloads for each in lines],
        source=[sources.setdefault(each.source, len(sources)) for each in lines], sources=list(sources),
    )  # fmt: skip
    shares = Shares(
        variant=variant, stand=[places[name] for name, _, _ in variants], text=[text for _, text, _ in variants]
    )
    owns = b"\n".join(own for _, _, own in variants)
    return Models(entries=entries, shares=shares, owns=owns, stands=stands, configs=configs, facts=facts)


def _untold(name: str, line: _Line) -> Stand:
    """A stand of which no file tells, as of an older folder that does not keep why entries were refused."""
    return Stand(name=name, architecture=line.architecture, outcome="invalid" if line.invalid else "")


def _facts(path: Path) -> list[Fact]:
    """The facts of each attempt; a line that a killed process left torn is passed over, the last of several stands."""
    found: dict[tuple[str, int], Fact] = {}
    for file in sorted(path.glob("facts-*.jsonl")):
        for line in file.read_bytes().split(b"\n"):
            fact = _fact(line)
            if fact is not None:
                found[fact.key, fact.number] = fact
    return list(found.values())


def facts_lines(folder: Path, keys: Collection[str]) -> list[bytes]:
    """The lines of a suite's folder that tell of these tests, as they stand there."""
    found = []
    for file in sorted(folder.glob("facts-*.jsonl")):
        for line in file.read_bytes().split(b"\n"):
            fact = _fact(line)
            if fact is not None and fact.key in keys:
                found.append(line)
    return found


class _Measured(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    number: int
    seconds: dict[str, float] = {}
    memory: dict[str, int] = {}


_MEASURED_DECODER: Final = msgspec.json.Decoder(_Measured)
_PARTS_DECODER: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _fact(line: bytes) -> Fact | None:
    try:
        said, parts = _MEASURED_DECODER.decode(line), _PARTS_DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    body = msgspec.json.encode({name: value for name, value in parts.items() if name not in _MEASURED})
    return Fact(key=said.key, number=said.number, body=body, seconds=said.seconds, memory=said.memory)
