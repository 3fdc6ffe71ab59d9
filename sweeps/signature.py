"""What is run once and attributed to every model that shares it: a class, its reduced configuration, its inputs."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from conformance.errors import UsageError
from sweeps import inputs, reduce
from sweeps.architectures import Architecture
from sweeps.floats import decoded, encoded
from sweeps.reduce import TINY

_SHORT: Final = 12
"""Hexadecimal digits of a signature in an identity: among 10,000 signatures two meet with a chance of 2e-7."""


class Signature(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a run's `models/signatures.jsonl`.

    `reduced` is the configuration at the first level of the ladder, of which `id` is a hash; `full` is the complete one
    of `model`, the catalogue's first that shares it, from which further levels are made. `origin` is `config`,
    `dims` (synthesised from dimensions) or `defaults` (of the class). `left_out` names fields that are never followed.
    `family` is that of the class, for who reads the file without the library; `level` is the ladder's first.
    """

    id: str
    digest: str
    model_type: str
    architecture: str
    reduced: dict[str, Any]
    full: dict[str, Any]
    model: str
    origin: str
    left_out: tuple[str, ...] = ()
    family: str = ""
    level: str = TINY.name

    @property
    def of(self) -> Architecture:
        """The model class with its model type."""
        return Architecture(model_type=self.model_type, name=self.architecture)


def digest(architecture: Architecture, reduced: Mapping[str, Any]) -> str:
    """A hash over class, reduced configuration, and the versions of reduction and inputs; equal in every process."""
    parts = {
        "model_type": architecture.model_type, "architecture": architecture.name, "config": reduced,
        "reduction": reduce.VERSION, "inputs": inputs.VERSION,
    }  # fmt: skip
    return hashlib.blake2b(canonical(parts), digest_size=16).hexdigest()


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and without spaces: one text for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def short(digest: str) -> str:
    """A digest as it stands in identities."""
    return digest[:_SHORT]


def write(path: Path, signatures: Iterable[Signature]) -> None:
    """Write signatures, one a line, so that the file is whole or absent."""
    encoder = msgspec.json.Encoder()
    partial = path.with_suffix(".partial")
    partial.write_bytes(b"".join(encoder.encode(_written(each)) + b"\n" for each in signatures))
    partial.replace(path)


def _written(found: Signature) -> Signature:
    return msgspec.structs.replace(found, reduced=encoded(found.reduced), full=encoded(found.full))


def _read(found: Signature) -> Signature:
    return msgspec.structs.replace(found, reduced=decoded(found.reduced), full=decoded(found.full))


def read(path: Path) -> Iterator[Signature]:
    """Signatures of a run. Raises UsageError when the file is not one."""
    try:
        with path.open("rb") as file:
            yield from (_read(msgspec.json.decode(line, type=Signature)) for line in file)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{path} cannot be read as signatures of models: {error}; plan the run again") from error
