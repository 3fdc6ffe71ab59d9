"""The report as JSON documents, the same words in the terminal."""

from collections.abc import Iterable
from typing import Any

from sweeps.calls.blockers import Count, OpRow, SetRow, Step, Way
from sweeps.calls.evidence import Standing
from sweeps.calls.report import Report


def of_report(found: Report, ways: Iterable[Way]) -> dict[str, Any]:
    """A run's ways; every count is of models, of the signatures that stand for them, and of their downloads."""
    return _run(found) | {"ways": [of_way(found, each) for each in ways]}


def of_model(found: Report, model: str, standings: Iterable[tuple[Way, Standing]]) -> dict[str, Any]:
    """One model in each way that the run planned it in."""
    ways = [{"mode": way.mode, "dtype": way.dtype, **of_standing(found, way, each)} for way, each in standings]
    return _run(found) | {"model": model, "ways": ways}


def _run(found: Report) -> dict[str, Any]:
    header = found.header
    return {
        "run": header.run, "target": header.target, "release": header.release, "simulated": header.simulated,
        "replayed_by": found.replays or None,
    }  # fmt: skip


def of_way(found: Report, way: Way) -> dict[str, Any]:
    """One mode and dtype. `right`, `held_back`, `unnamed` and `other` add up to `planned`."""
    return {
        "mode": way.mode, "dtype": way.dtype, "models": way.catalogue, "without_signature": way.refused,
        "not_planned": of_count(way.not_planned), "planned": of_count(way.planned), "right": of_count(way.right),
        "held_back": of_count(way.held), "held_back_by_known_ops_alone": of_count(way.closed),
        "unnamed": of_count(way.unnamed), "other": of_count(way.other), "outcomes": dict(way.outcomes.most_common()),
        "steps": [_of_step(each) for each in way.steps], "ops": [_of_op(found, each) for each in way.ops],
        "sets": [_of_set(each) for each in way.sets],
        "unnamed_signatures": [_of_unnamed(each) for each in way.unnamed_standings],
    }  # fmt: skip


def of_count(count: Count) -> dict[str, int]:
    """Models, signatures, downloads."""
    return {"models": count.models, "signatures": count.signatures, "downloads": count.downloads}


def _of_step(step: Step) -> dict[str, Any]:
    return {"ops": list(step.ops), "frees": of_count(step.frees), "freed_so_far": of_count(step.freed)}


def _of_op(found: Report, row: OpRow) -> dict[str, Any]:
    return {
        "op": row.op, "together": of_count(row.together), "alone": of_count(row.alone), "at_least": of_count(row.open),
        "shown_by": {how.value: number for how, number in sorted(row.hows.items())},
        "call": found.witnesses.calls.calls[row.call].describe() if row.call else None,
    }  # fmt: skip


def _of_set(row: SetRow) -> dict[str, Any]:
    return {"ops": list(row.ops), "held_back": of_count(row.held)}


def _of_unnamed(each: Standing) -> dict[str, Any]:
    return {"signature": each.signature, "outcome": each.outcome.word, "rule": each.rule, "message": each.message}


def of_standing(found: Report, way: Way, each: Standing) -> dict[str, Any]:
    """What stands between a signature and the device, with its calls of the ops that do."""
    calls = found.witnesses.calls
    made = calls.models.get((each.signature, way.dtype), {})
    replayed = found.witnesses.replayed.outcomes
    blocking = [
        {
            "digest": digest, "call": calls.calls[digest].describe(), "times": made[digest],
            "replayed": replayed[digest].word if digest in replayed else None,
        }
        for digest in made
        if calls.calls[digest].base in each.ops or digest in each.calls
    ]  # fmt: skip
    return {
        "signature": each.signature, "outcome": each.outcome.word, "rule": each.rule, "message": each.message,
        "complete": each.closed, "ops": {op: sorted(how.value for how in hows) for op, hows in each.ops.items()},
        "calls": blocking, "distinct_calls": len(made), "full_width": _full_width(found, way, each),
    }  # fmt: skip


def _full_width(found: Report, way: Way, each: Standing) -> "dict[str, Any] | None":
    """The calls of the same ops in the complete model; None where nobody recorded those."""
    key, full = (each.signature, way.dtype), found.full
    if key in full.whys:
        return {"why": full.whys[key], "calls": []}
    if key not in full.models:
        return None
    made = {digest: times for digest, times in full.models[key].items() if full.calls[digest].base in each.ops}
    return {"why": None, "calls": [{"call": full.calls[one].describe(), "times": made[one]} for one in made]}
