"""`conformance model`: what a run says of one model."""

from dataclasses import asdict
from typing import Any

import click

from conformance.cli import documents, screen
from conformance.errors import UsageError
from conformance.store import Store, open_store
from sweeps.reports import joined, listing, one
from sweeps.reports.joined import Joined
from sweeps.reports.one import Came, Model
from sweeps.reports.values import brief

_LONGEST_VALUE = 60


@click.command("model")
@click.argument("model", metavar="ID")
@click.option("--run", default="", metavar="RUN", help="A run id or a release's name.  [default: newest with models]")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def show_model(model: str, run: str, form: str) -> None:
    """Say of one model what was reduced, what ran where in each mode and dtype, and what that does not show.

    ID is as in the run's catalogue, for the shipped one that of the Hugging Face Hub.

    Example: conformance model Qwen/Qwen3-0.6B
    """
    with open_store() as opened:
        found, remark = joined.required(opened, run)
        if remark:
            screen.remark(remark)
        models = _models(opened, found, model)
    if form == "json":
        screen.say_json(document(found, models))
    else:
        for each in models:
            _print(found, each)


def _models(opened: Store, found: Joined, model: str) -> list[Model]:
    places = listing.places_of(found.table, model)
    if not places:
        near = listing.near(found.table, model)
        like = f": near are {', '.join(screen.safe(each, 80) for each in near)}" if near else ""
        raise UsageError(f"run {screen.safe(found.run.uid)} has no model {screen.safe(model, 120)!r}{like}")
    return [one.model(opened, found, each) for each in places]


def document(found: Joined, models: list[Model]) -> dict[str, Any]:
    """The JSON document; an id that is in the catalogue several times has several entries."""
    entries = [{name: value for name, value in asdict(each).items() if name != "id"} for each in models]
    return {
        "id": models[0].id,
        "simulated": found.run.simulated,
        "run": documents.run_of(found.run),
        "entries": entries,
    }


def _print(found: Joined, model: Model) -> None:
    label = " — simulated, not real hardware" if found.run.simulated else ""
    run = found.run
    screen.say(f"{screen.safe(model.id)} in run {screen.safe(run.uid)}: {screen.safe(run.release)} on "
               f"{screen.safe(run.target)}{label}")  # fmt: skip
    screen.say_table(("", ""), [pair for pair in _facts(model) if pair[1]])
    if model.signature:
        _reduction(model)
        _came(model)
    screen.say()
    for each in model.not_shown:
        screen.say(f"it does not show {screen.safe(each)}")


def _facts(model: Model) -> list[tuple[str, str]]:
    place = (
        f"entry {model.place + 1:,} of the catalogue, {model.downloads:,} downloads, from {model.source or 'nobody'}"
    )
    return [
        ("catalogue", place), ("class", model.architecture), ("model type", model.model_type),
        ("configuration", {"config": "its own", "dims": "synthesised from dimensions", "defaults": "of its class"}.get(
            model.origin, model.origin)),
        ("signature", f"{model.signature}, of {model.shared:,} entries" if model.signature else ""),
        ("refused", f"{model.rule}: {model.why}" if not model.signature else ""),
    ]  # fmt: skip


def _reduction(model: Model) -> None:
    screen.say()
    screen.say(f"reduced to level {screen.safe(model.level) or 'none'}: {len(model.reduction):,} of {model.values:,} "
               "values are others")  # fmt: skip
    screen.say_table(("value", "full", "reduced"), [(each.path, _value(each.full), _value(each.reduced))
                                                    for each in model.reduction])  # fmt: skip


def _value(value: object) -> str:
    return screen.safe(brief(value), _LONGEST_VALUE)


def _came(model: Model) -> None:
    screen.say()
    rows = [
        (each.mode, each.dtype, each.outcome + (" (flaky)" if each.flaky else ""), each.stage, each.ran_on, each.level,
         sum(each.seconds.values()), _why(each))
        for each in model.came
    ]  # fmt: skip
    screen.say_table(("mode", "dtype", "outcome", "stage", "ran on", "level", "seconds", "why"), rows)
    for way in model.came:
        if way.inputs:
            told = ", ".join(f"{screen.safe(name, 40)} {screen.safe(each, 60)}" for name, each in way.inputs.items())
            screen.say(f"inputs in {way.mode} {way.dtype}: {told}")


def _why(way: Came) -> str:
    told = f"re-used from run {way.reused}" if way.reused else ""
    parts = (told, way.rule, way.code, ", ".join(way.fallback_ops), screen.safe(way.message or way.cause, 160))
    return "; ".join(each for each in parts if each)
