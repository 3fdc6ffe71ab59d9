"""Two small runs that come with the program and show every class of a comparison. Made up, labelled simulated.

They are written down in `pair.toml` and turned into run folders when asked for, always with the same bytes.
"""

import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import msgspec

from conformance.journal import Begin, End
from conformance.outcomes import Outcome, RanOn, Stage, TestId
from conformance.plan import Decision, PlannedTest, RunHeader, Selection, digest
from conformance.record import RunFolder

_SECONDS: Final = {"setup": 0.002, "execute": 0.01, "compare": 0.001}
_DECIDED: Final = frozenset({Outcome.SKIP_ELIGIBILITY, Outcome.SKIP_ENVIRONMENT, Outcome.SKIP_COVERAGE})


def write(folder: Path) -> tuple[Path, Path]:
    """Write both runs into a folder and return their folders, the older first."""
    data = described()
    return _write(folder, data, "a"), _write(folder, data, "b")


def described() -> dict[str, Any]:
    """What pair.toml says: `a` and `b` about the runs, `test` with both sides and the class that it shows."""
    return tomllib.loads(resources.files(__name__).joinpath("pair.toml").read_text(encoding="utf-8"))


def _write(folder: Path, data: Mapping[str, Any], name: str) -> Path:
    about = data[name]
    entries = [each for each in data["test"] if each.get(name)]
    tests = [_planned(each, name) for each in entries]
    path = folder / str(about["run"])
    header = RunHeader(
        run=about["run"], target="sim", release=about["release"], simulated=True,
        selection=Selection(suites=tuple(about["suites"])), plan_digest=digest(tests), planned=len(tests),
        started=about["started"].timestamp(), environment=about["environment"],
    )  # fmt: skip
    RunFolder(path=path).create(header, tests)
    lines = b"".join(_lines(entries, name, header.started))
    (RunFolder(path=path).journals / "recorded.jsonl").write_bytes(lines)
    return path


def _attempts(entry: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return entry[name] if isinstance(entry[name], list) else [entry[name]]


def _planned(entry: Mapping[str, Any], name: str) -> PlannedTest:
    side = _attempts(entry, name)[0]
    outcome = Outcome.from_word(side["outcome"])
    decided = None
    if outcome in _DECIDED:
        decided = Decision(outcome=outcome, rule=side["rule"], reason=side.get("message", ""))
    return PlannedTest(id=identity(entry, name), definition=side.get("definition", "1"), decided=decided)


def identity(entry: Mapping[str, Any], name: str) -> TestId:
    """The identity of a described test on side "a" or "b": a renamed one has another name on side a."""
    called = entry.get("name_a", entry["name"]) if name == "a" else entry["name"]
    kind, op, dtype = entry["name"].split(".")
    return TestId(suite=entry.get("suite", "example"), file="", cls=op, name=called, op=op, dtype=dtype, kind=kind)


def _lines(entries: Iterable[Mapping[str, Any]], name: str, started: float) -> Iterable[bytes]:
    encoder, at = msgspec.json.Encoder(), started
    for entry in entries:
        key = identity(entry, name).key
        for number, side in enumerate(_attempts(entry, name), 1):
            if Outcome.from_word(side["outcome"]) in _DECIDED:
                continue
            at += sum(_SECONDS.values())
            yield encoder.encode(Begin(t=key, n=number, at=at, pid=1)) + b"\n"
            yield encoder.encode(_end(key, number, at, side)) + b"\n"


def _end(key: str, number: int, at: float, side: Mapping[str, Any]) -> End:
    return End(
        t=key, n=number, at=at, o=Outcome.from_word(side["outcome"]), r=side.get("rule", ""),
        on=RanOn(side.get("ran_on", "device")), s=Stage(side.get("stage", "compare")), d=_SECONDS,
        m=side.get("message", ""), c=side.get("cause", ""), k=side.get("code", ""), f=tuple(side.get("ops", ())),
        x=side.get("detail", ""),
    )  # fmt: skip
