"""Catalogues of models: JSON lines, a folder of config.json files, or one of them; read one entry at a time."""

import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from conformance.errors import UsageError

SHIPPED: Final = Path(__file__).parent / "data" / "catalogue.jsonl.gz"
"""The catalogue of the package; its sources and licences are noted in the README beside it."""

LONGEST_ENTRY: Final = 4 << 20
"""Bytes of one entry. The longest of 66 real configurations has 67 kB; a list of 21,841 labels takes about 1 MB."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model: its id, and a configuration, or dimensions from which one is synthesised, or neither.

    `architecture` is the name of the model class, `downloads` a count, `source` where the facts come from. `reduction`
    is the first level of the ladder, `aligned` for heads as wide as they were; "" for the smallest.
    """

    id: str
    model_type: str = ""
    architecture: str = ""
    task: str = ""
    downloads: int = 0
    source: str = ""
    config: dict[str, Any] | None = None
    dims: dict[str, Any] = {}
    reduction: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable:
    """What stood in the place of an entry: where, and in one sentence what is wrong with it."""

    id: str
    reason: str


def read(path: Path, named: str = "--catalogue") -> Iterator[Entry | Unreadable]:
    """Every entry, in order; what cannot be read comes as `Unreadable`. Raises UsageError without a catalogue.

    `named` is what the user calls the path.
    """
    if path.is_dir():
        yield from _folder(path, named)
    elif not path.is_file():
        raise UsageError(f"{named} {str(path)!r} is neither a file nor a folder: name a JSONL file, a folder of "
                         "config.json files or one of them")  # fmt: skip
    elif path.name.endswith(".json"):
        yield _config_file(path, path.stem)
    else:
        yield from _lines(path, named)


def _folder(path: Path, named: str) -> Iterator[Entry | Unreadable]:
    found = sorted(each for each in path.rglob("*.json") if each.is_file())
    if not found:
        raise UsageError(f"{named} {str(path)!r} has no .json file: name a folder of config.json files")
    for each in found:
        yield _config_file(each, _id_of(each, path))


def _id_of(file: Path, root: Path) -> str:
    """`org/name` for org--name.json and for org/name/config.json."""
    inside = file.relative_to(root)
    name = str(inside.parent) if inside.name == "config.json" and len(inside.parts) > 1 else str(inside.with_suffix(""))
    return name.replace("--", "/")


def _config_file(file: Path, name: str) -> Entry | Unreadable:
    try:
        size = file.stat().st_size
        if size > LONGEST_ENTRY:
            return Unreadable(id=name, reason=_too_long(size))
        config = parsed(file.read_bytes())
    except (OSError, ValueError) as error:
        return Unreadable(id=name, reason=f"its configuration cannot be read: {error}")
    if not isinstance(config, dict):
        return Unreadable(id=name, reason=f"its configuration is a JSON {type(config).__name__} and not an object")
    return Entry(id=name, config=config, source=file.name)


def parsed(data: bytes) -> Any:
    """JSON; ValueError in one sentence for anything else, however deep."""
    try:
        found = json.loads(data)
        if b"\\ud" in data.lower():
            # A lone surrogate is text that nobody can write down again.
            msgspec.json.encode(found)
        return found
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8: {error.reason}") from None
    except UnicodeEncodeError:
        raise ValueError("it has half of a character in it (a lone surrogate)") from None


def _lines(path: Path, named: str) -> Iterator[Entry | Unreadable]:
    decoder = msgspec.json.Decoder(Entry)
    try:
        with _opened(path) as file:
            number = 0
            while line := file.readline(LONGEST_ENTRY + 1):
                number += 1
                if len(line) > LONGEST_ENTRY:
                    yield Unreadable(id=f"line {number}", reason=_too_long(_skip_line(file, len(line))))
                elif line.strip():
                    yield _entry(decoder, line, number)
    except (OSError, EOFError) as error:
        raise UsageError(f"{named} {str(path)!r} cannot be read: {error}") from error


def _opened(path: Path) -> BinaryIO:
    if path.name.endswith(".gz"):
        return io.BufferedReader(gzip.open(path, "rb"))
    return path.open("rb")


def _skip_line(file: BinaryIO, read: int) -> int:
    """Read on to the end of a line that is too long; its whole length."""
    while part := file.readline(1 << 20):
        read += len(part)
        if part.endswith(b"\n"):
            break
    return read


def _entry(decoder: "msgspec.json.Decoder[Entry]", line: bytes, number: int) -> Entry | Unreadable:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _lenient(line, number)


def _lenient(line: bytes, number: int) -> Entry | Unreadable:
    """A line with numbers that Python writes and JSON does not have, as configurations on the Hub hold them."""
    try:
        return msgspec.convert(parsed(line), Entry)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        return Unreadable(id=f"line {number}", reason=f"it is not an entry of a catalogue: {error}")


def _too_long(size: int) -> str:
    return f"it has {size:,} bytes: an entry may have {LONGEST_ENTRY:,}"
