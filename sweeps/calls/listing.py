"""`conformance calls`: the aten calls that a run's models make, and those of the complete models."""

import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import click

from conformance import settings
from conformance.cli import earlier, screen
from conformance.errors import UsageError
from conformance.plan import MODELS
from conformance.record import RunFolder
from sweeps import signature
from sweeps.calls import files
from sweeps.calls.cli import newest
from sweeps.calls.files import Calls
from sweeps.planning import SIGNATURES

SECONDS: Final = 60.0
_BETWEEN: Final = 5.0


@click.command("calls")
@click.argument("run", required=False)
@click.option("--full-width", is_flag=True, help="Also of the complete models, on the meta device: minutes, kept.")
@click.option("--seconds", type=click.FloatRange(0.1), default=SECONDS, show_default=True,
              help="Longest for one complete model.")  # fmt: skip
@click.option("--limit", type=click.IntRange(0), default=25, show_default=True, help="Ops listed in a table.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True,
              help="json has every op.")  # fmt: skip
def show_calls(run: str | None, full_width: bool, seconds: float, limit: int, form: str) -> None:
    """Count the distinct aten calls of a run's models by op.

    RUN is a run id or a run's folder; the newest run with models when none is given.

    Example: conformance calls --full-width
    """
    known = settings.load()
    folder = earlier.folder(known, run) if run else newest(known)
    place = folder.path / MODELS
    found = files.read(place)
    if not found.models and not found.whys:
        raise UsageError(
            f"run {folder.read_header().run} has no recorded calls: run suite models, or name a run that did"
        )
    if full_width:
        _record(place, found, seconds)
    _show(folder, {"reduced": found, "full width": files.read(place, files.FULL)}, limit, form)


def _record(place: Path, found: Calls, seconds: float) -> None:
    """Record complete models that are not recorded yet; what is there is kept."""
    # Torch and transformers take seconds to import, which counting does not need.
    from sweeps import running
    from sweeps.calls import full

    done, known = files.read(place, files.FULL), {each.id: each for each in signature.read(place / SIGNATURES)}
    wanted = [key for key in sorted(found.models) if key not in done.models and key not in done.whys]
    said = time.monotonic()
    with running.quiet():
        chosen = ((known[name], dtype) for name, dtype in wanted)
        for number, (each, why) in enumerate(full.record(chosen, place, seconds), 1):
            if why or time.monotonic() - said > _BETWEEN:
                said = time.monotonic()
                reason = f", {screen.safe(each.architecture, 80)} has none: {screen.safe(why, 200)}" if why else ""
                screen.remark(f"{number} of {len(wanted)} complete models{reason}")


def _show(folder: RunFolder, sides: dict[str, Calls], limit: int, form: str) -> None:
    header = folder.read_header()
    if form == "json":
        screen.say_json(
            {"run": header.run, **{side.replace(" ", "_"): _document(each) for side, each in sides.items()}}
        )
        return
    screen.say(screen.safe(f"run {header.run}"))
    for side, each in sides.items():
        if each.models or each.whys:
            _show_side(side, _document(each), limit)


def _show_side(side: str, said: dict[str, Any], limit: int) -> None:
    screen.say()
    screen.say(
        f"{side}: {said['distinct']:,} distinct calls, {said['calls']:,} in all, of {said['models']:,} signatures; "
        f"{len(said['without']):,} signatures without"
    )
    rows = [(each["op"], each["distinct"], each["signatures"], each["calls"]) for each in said["ops"][:limit]]
    screen.say_table(("op", "distinct", "signatures", "calls"), rows)


def _document(found: Calls) -> dict[str, Any]:
    """Counted by overload, the most distinct first."""
    distinct, signatures, times = Counter(each.op for each in found.calls.values()), Counter[str](), Counter[str]()
    for made in found.models.values():
        signatures.update({found.calls[digest].op for digest in made})
        for digest, count in made.items():
            times[found.calls[digest].op] += count
    return {
        "distinct": len(found.calls), "calls": times.total(), "models": len(found.models),
        "without": [{"signature": name, "dtype": dtype, "why": why} for (name, dtype), why in found.whys.items()],
        "ops": [
            {"op": op, "distinct": number, "signatures": signatures[op], "calls": times[op]}
            for op, number in sorted(distinct.items(), key=lambda each: (-each[1], each[0]))
        ],
    }  # fmt: skip
