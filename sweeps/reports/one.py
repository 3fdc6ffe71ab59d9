"""Everything a run says of one model: what was reduced, what ran where, and what that does not show."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

from conformance.errors import StoreError
from conformance.outcomes import Outcome
from conformance.store import OutcomeRow, RunRow, Store, configs_of, facts_of, own_of, rows_of
from sweeps.attribution import flat
from sweeps.reports.joined import NOT_PLANNED, Joined, Way, word_of

_ABSENT: Final = msgspec.UNSET


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of an attempt's facts; others may be there."""

    level: str = ""
    tried: dict[str, str] = {}
    config: dict[str, Any] = {}
    inputs: dict[str, Any] = {}
    missing: list[str] = []
    refused: str = ""
    elements: int = 0
    ops: list[str] = []


@dataclass(frozen=True, kw_only=True, slots=True)
class Reduced:
    """One value of a configuration that is another in the reduced one; `(absent)` where one of them has none."""

    path: str
    full: Any
    reduced: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Came:
    """What a model's signature came to in one way. `level` is that of the ladder which was built, "" when none was.

    `seconds` are by stage, `memory` in bytes, both of the last attempt that told. `reused` is the earlier run that the
    outcome was taken over from, empty for a test that ran.
    """

    mode: str
    dtype: str
    number: int | None
    key: str
    outcome: str
    flaky: bool
    stage: str
    ran_on: str
    rule: str
    message: str
    cause: str
    code: str
    fallback_ops: Sequence[str]
    level: str
    inputs: Mapping[str, str]
    missing: Sequence[str]
    elements: int
    seconds: Mapping[str, float]
    memory: Mapping[str, int]
    reused: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """One entry of a run's catalogue.

    `shared` is how many entries share its signature, `reduction` how its complete configuration differs from the one at
    `level`, of `values` values in all. `why` says why an entry has no signature. `not_shown` are sentences.
    """

    id: str
    place: int
    downloads: int
    source: str
    text_generation: bool
    architecture: str
    model_type: str
    family: str
    origin: str
    left_out: Sequence[str]
    signature: str
    shared: int
    why: str
    rule: str
    level: str
    values: int
    reduction: Sequence[Reduced]
    came: Sequence[Came]
    not_shown: Sequence[str]


def model(store: Store, joined: Joined, place: int) -> Model:
    """The model at a place of a run's catalogue."""
    table, at = joined.table, int(joined.table.stand[place])
    stand, own = table.stands[at], own_of(store, joined.run, joined.table, place)
    came = list(_came(store, joined, at))
    reduced, full = configs_of(store, joined.run, stand)
    built = next(((one, told) for one, told in came if told.config), None)
    level, config = (built[0].level, built[1].config) if built else ("tiny" if reduced else "", reduced)
    whole = {path: value for path, value in {**flat(full), **own.own}.items() if path not in own.lacks}
    results = [each for each, _ in came]
    return Model(
        id=table.ids[place], place=place, downloads=int(table.downloads[place]),
        source=table.sources[int(table.source[place])], text_generation=bool(table.text[place]),
        architecture=stand.architecture, model_type=stand.model_type, family=stand.family, origin=own.origin,
        left_out=own.left_out, signature="" if stand.outcome else stand.name,
        shared=int(np.count_nonzero(table.stand == at)), why=stand.reason, rule=stand.rule, level=level,
        values=len(whole), reduction=list(_reduction(whole, flat(config))), came=results,
        not_shown=not_shown(joined.run, own.origin, own.left_out, results, signed=not stand.outcome),
    )  # fmt: skip


def _came(store: Store, joined: Joined, stand: int) -> Iterator[tuple[Came, Told]]:
    numbers = {way: joined.number(way, stand) for way in joined.ways}
    wanted = sorted({each for each in numbers.values() if each is not None})
    rows = {each.number: each for each in rows_of(store, joined.run, wanted)}
    for way, number in numbers.items():
        if number is None:
            yield _unplanned(way, word_of(int(joined.status[way][stand]))), Told()
        else:
            yield _one(store, joined.run, way, rows[number])


def _unplanned(way: Way, word: str) -> Came:
    return Came(
        mode=way.mode, dtype=way.dtype, number=None, key="", outcome=word, flaky=False, stage="", ran_on="", rule="",
        message="", cause="", code="", fallback_ops=(), level="", inputs={}, missing=(), elements=0, seconds={},
        memory={}, reused="",
    )  # fmt: skip


def _one(store: Store, run: RunRow, way: Way, row: OutcomeRow) -> tuple[Came, Told]:
    found = facts_of(store, run, row.number)
    told = _told(run, found[-1].told) if found else Told()
    made = Came(
        mode=way.mode, dtype=way.dtype, number=row.number, key=row.key, outcome=row.outcome.word, flaky=row.flaky,
        stage=row.stage, ran_on=row.ran_on, rule=row.rule, message=row.message, cause=row.cause, code=row.code,
        fallback_ops=row.fallback_ops, level=told.level,
        inputs={name: _input(each) for name, each in told.inputs.items()},
        missing=told.missing, elements=told.elements, seconds=found[-1].seconds if found else {},
        memory=found[-1].memory if found else {},
        reused=row.reused,
    )  # fmt: skip
    return made, told


def _told(run: RunRow, told: Mapping[str, Any]) -> Told:
    try:
        return msgspec.convert(told, Told)
    except msgspec.ValidationError as error:
        raise StoreError(f"facts of a model in run {run.uid} are damaged: {error}; run it again") from None


def _input(filling: Any) -> str:
    """A filling in a few words: `int64 [2, 16] values`."""
    if isinstance(filling, Mapping):
        words = (filling.get("dtype", ""), filling.get("shape", ""), filling.get("fill", ""))
        return " ".join(str(each) for each in words if each != "")
    return type(filling).__name__ if isinstance(filling, list) else str(filling)


def _reduction(full: Mapping[str, Any], reduced: Mapping[str, Any]) -> Iterator[Reduced]:
    for path in dict.fromkeys([*full, *reduced]):
        pair = full.get(path, _ABSENT), reduced.get(path, _ABSENT)
        if pair[0] != pair[1] or type(pair[0]) is not type(pair[1]):
            yield Reduced(path=path, full=_shown(pair[0]), reduced=_shown(pair[1]))


def _shown(value: Any) -> Any:
    return "(absent)" if value is _ABSENT else value


_ALWAYS: Final = (
    "that the full model fits into the device's memory, or how fast it is",
    "errors that grow with depth, or that a width or a length beyond the reduced ones would meet",
    "what its trained weights do: these were drawn at random, seed 0",
)
_WITHOUT_EFFECT: Final = frozenset({"architectures", "dtype", "torch_dtype", "transformers_version", "_name_or_path"})
"""Fields that are left out of every configuration and decide nothing that a reduced one does not decide otherwise."""
_ORIGIN: Final = {
    "dims": "its own configuration: this one is synthesised, defaults with known dimensions in their place",
    "defaults": "its own configuration: this one has the defaults of its class alone",
}


def not_shown(run: RunRow, origin: str, left_out: Sequence[str], came: Sequence[Came], *, signed: bool) -> list[str]:
    """What the outcomes of a model do not show, as ends of "it does not show …"."""
    if not signed:
        return ["anything about the device: nothing of this model was run"]
    said = [*_ALWAYS]
    said += [_ORIGIN[origin]] if origin in _ORIGIN else []
    said += ["anything about hardware: the device is simulated"] if run.simulated else []
    changing = [each for each in left_out if each not in _WITHOUT_EFFECT]
    said += [f"what these would change, which were left out: {', '.join(changing)}"] if changing else []
    missing = sorted({name for each in came for name in each.missing})
    said += [f"these inputs, which it was not given: {', '.join(missing)}"] if missing else []
    asked = {each.mode for each in came if each.outcome not in (NOT_PLANNED, Outcome.NOT_RUN.word)}
    said += [f"mode {mode}, which this run did not try" for mode in ("eager", "train", "compile") if mode not in asked]
    return said
