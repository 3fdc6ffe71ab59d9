"""A run's folder read for the question which ops stand between its models and the device."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from conformance import inventory
from conformance.errors import UsageError
from conformance.plan import INVALID_MODEL, MODEL_OPS, MODELS, RunHeader
from conformance.record import Result, RunFolder, read_results
from sweeps.calls import files
from sweeps.calls.blockers import Count, Way, tally
from sweeps.calls.evidence import Replayed, Standing, Witnesses
from sweeps.calls.files import Calls

_ORDER: Final = ("eager", "train", "compile")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What is needed of a line of `models/attribution.jsonl`."""

    id: str
    signature: str = ""
    invalid: str = ""
    downloads: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A run's ways. `replays` is the run whose replayed calls were asked, "" for none; `witnesses` what is known."""

    header: RunHeader
    entries: list[Entry]
    ways: list[Way]
    witnesses: Witnesses
    replays: str = ""
    full: Calls = field(default_factory=Calls)
    """The calls of complete models, where they were recorded."""

    def standings(self, model: str) -> list[tuple[Way, Standing]]:
        """What stands between one model and the device, for each way that the run planned it in.

        Raises UsageError when the catalogue has no such model, or the run says nothing of it.
        """
        found = [each for each in self.entries if each.id == model]
        if not found:
            raise UsageError(f"there is no model {model[:200]!r} in the catalogue of run {self.header.run}")
        signature = found[0].signature
        if not signature:
            raise UsageError(f"model {model[:200]!r} has no signature: {found[0].invalid} says why")
        made = [(way, each) for way in self.ways for each in way.standings if each.signature == signature]
        if not made:
            raise UsageError(
                f"run {self.header.run} did not plan signature {signature} of model {model[:200]!r}: run its catalogue "
                "with --profile full"
            )
        return made


def read(folder: RunFolder, replays: RunFolder | None = None) -> Report:
    """The report of a run of suite models. Raises UsageError for a run without models.

    Replayed calls are those of `replays`, else of the run itself where it has suite model_ops.
    """
    header, results = folder.read_header(), read_results(folder)
    place = folder.path / MODELS
    if MODELS not in header.selection.suites or not (place / "attribution.jsonl").is_file():
        raise UsageError(f"run {header.run} has no models: run suite models, or name a run that did")
    replayed, source = _replayed(header, results, replays)
    witnesses = Witnesses(calls=files.read(place), overloads=inventory.read(folder.overloads), replayed=replayed)
    entries = _entries(place / "attribution.jsonl")
    return Report(
        header=header,
        entries=entries,
        ways=_ways(results, witnesses, entries),
        witnesses=witnesses,
        replays=source,
        full=files.read(place, files.FULL),
    )


def _replayed(header: RunHeader, results: list[Result], replays: RunFolder | None) -> tuple[Replayed, str]:
    if replays is not None:
        other = replays.read_header()
        same = (other.target, other.release) == (header.target, header.release)
        if not same or MODEL_OPS not in other.selection.suites:
            raise UsageError(
                f"run {other.run} does not tell of the calls of {header.run}: it must have suite model_ops, on target "
                f"{header.target} and release {header.release}"
            )
        return Replayed.of(each for each in read_results(replays) if each.test.id.suite == MODEL_OPS), other.run
    own = [each for each in results if each.test.id.suite == MODEL_OPS]
    return Replayed.of(own), header.run if own else ""


def _entries(path: Path) -> list[Entry]:
    try:
        return msgspec.json.Decoder(Entry).decode_lines(path.read_bytes())
    except (OSError, msgspec.DecodeError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}; run the models again") from error


def _ways(results: Iterable[Result], witnesses: Witnesses, entries: list[Entry]) -> list[Way]:
    made: dict[tuple[str, str], list[Standing]] = {}
    for each in results:
        test = each.test.id
        if test.suite == MODELS and test.kind != INVALID_MODEL:
            made.setdefault((test.kind, test.dtype), []).append(witnesses.standing(each))
    shares = _shares(entries)
    return [_way(mode, dtype, made[mode, dtype], entries, shares) for mode, dtype in sorted(made, key=_place)]


def _place(way: tuple[str, str]) -> tuple[int, str]:
    return (_ORDER.index(way[0]) if way[0] in _ORDER else len(_ORDER), way[1])


def _shares(entries: Iterable[Entry]) -> dict[str, Count]:
    models: dict[str, int] = {}
    downloads: dict[str, int] = {}
    for each in entries:
        if each.signature:
            models[each.signature] = models.get(each.signature, 0) + 1
            downloads[each.signature] = downloads.get(each.signature, 0) + each.downloads
    return {name: Count(models=models[name], signatures=1, downloads=downloads[name]) for name in models}


def _way(
    mode: str, dtype: str, standings: list[Standing], entries: list[Entry], shares: Mapping[str, Count]
) -> Way:  # fmt: skip
    planned = {each.signature for each in standings}
    rest = Count()
    for name, share in shares.items():
        rest += share if name not in planned else Count()
    way = Way(
        mode=mode, dtype=dtype, catalogue=len(entries), not_planned=rest,
        refused=sum(not each.signature for each in entries),
    )  # fmt: skip
    return tally(way, standings, shares)
