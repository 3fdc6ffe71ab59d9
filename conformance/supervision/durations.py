"""How long each test took last, kept between runs so that the next one can start with the longest."""

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from conformance.record import Result

_DECODER = msgspec.json.Decoder(dict[str, float])


def path_of(home: Path, target: str) -> Path:
    """The file with the durations on a target, seconds by test key."""
    return home / "durations" / f"{target}.json"


def load(path: Path) -> dict[str, float]:
    """Seconds by test key; empty when there are none, or none that can be read: they only order the work."""
    try:
        return _DECODER.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}


def save(path: Path, results: Iterable[Result]) -> None:
    """Add what a run measured. A disk that refuses is not worth failing a finished run for."""
    known = load(path)
    for each in results:
        if spent := sum(each.shown.seconds.values()):
            known[each.test.key] = round(spent, 4)
    partial = path.with_suffix(".partial")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(msgspec.json.encode(known))
        partial.replace(path)
