"""Which model shares which signature, as a run keeps it: each with its own values where they differ."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from conformance.plan import PlannedTest
from sweeps.floats import encoded, is_written

ATTRIBUTION: Final = "attribution.jsonl"
REFUSED: Final = "refused.jsonl"


class Attributed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a run's `models/attribution.jsonl`: an entry of the catalogue and what stands for it.

    `signature` is an id, or `invalid` the key of the planned test that says why there is none; `architecture` is the
    class, of a refused entry what was told of it. `origin` and `left_out` are those of this entry's own configuration,
    as for Signature. `own` maps dotted paths to values of its complete configuration that differ from those of the
    signature's `model`, `lacks` are paths that it does not have. `text_generation`: its task, or its class, says so.
    """

    id: str
    signature: str = ""
    invalid: str = ""
    architecture: str = ""
    downloads: int = 0
    origin: str = ""
    source: str = ""
    text_generation: bool = False
    left_out: tuple[str, ...] = ()
    own: dict[str, Any] = {}
    lacks: tuple[str, ...] = ()


class Refused(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of `models/refused.jsonl`: why some entries have no signature, whether the run planned that or not."""

    key: str
    outcome: str
    rule: str
    reason: str = ""
    model_type: str = ""
    architecture: str = ""


def values(config: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a nested configuration with its dotted path; lists are values."""
    for name, value in config.items():
        path = above + name.replace(".", "\\.")
        if isinstance(value, Mapping) and value and not is_written(value):
            yield from values(value, f"{path}.")
        else:
            yield path, value


def difference(of: Mapping[str, Any], than: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The values of one configuration that another does not have, and the paths that it lacks; both by path."""
    own = {path: value for path, value in of.items() if path not in than or not _equal(value, than[path])}
    return own, tuple(sorted(path for path in than if path not in of))


def _equal(one: Any, other: Any) -> bool:
    # In Python True is 1; in a configuration it is not.
    return type(one) is type(other) and one == other


def flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as values by path, each of which JSON has."""
    return dict(values(encoded(config)))


def label(refused: PlannedTest) -> str:
    """What is told of the architecture of entries that were refused: the class, else the model type."""
    return next((each for each in (refused.id.cls, refused.id.file) if each != "unknown"), "")


def write(folder: Path, attributed: Iterable[Attributed], invalid: Iterable[PlannedTest]) -> None:
    """Write both files, each whole or absent."""
    _write(folder / REFUSED, map(_refused, invalid))
    _write(folder / ATTRIBUTION, attributed)


def _refused(test: PlannedTest) -> Refused:
    assert test.decided is not None
    made = test.decided
    return Refused(
        key=test.key, outcome=made.outcome.word, rule=made.rule, reason=made.reason,
        model_type="" if test.id.file == "unknown" else test.id.file, architecture=label(test),
    )  # fmt: skip


def _write(path: Path, lines: Iterable[msgspec.Struct]) -> None:
    partial, encoder = path.with_suffix(".partial"), msgspec.json.Encoder()
    with partial.open("wb") as file:
        file.writelines(encoder.encode(each) + b"\n" for each in lines)
    partial.replace(path)
