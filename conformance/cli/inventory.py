"""`conformance inventory`: the aten overloads of the installed torch, who serves each, and which tests took it."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import click

from conformance import inventory, progress, settings, targets
from conformance.cli import inventory_screen, screen
from conformance.cli.inventory_screen import Named, Wanted
from conformance.errors import IncompleteError, UsageError
from conformance.inventory import Inventory, Registration, Status
from conformance.plan import Selection
from conformance.record import RunFolder
from conformance.store import Store, find_inventory, list_runs, open_store, resolve
from conformance.supervision.running import Request, Runner
from conformance.supervision.stopping import listening
from conformance.supervision.watch import Limits

W = TypeVar("W", bound=StrEnum)


@click.command("inventory")
@click.argument("run", required=False)
@click.argument("other", required=False, metavar="[B]")
@click.option("--target", metavar="T", help="Without a run: ask this target how it serves each overload.")
@click.option("--release", metavar="R", help="Release for --target.  [default: newest]")
@click.option("--status", "statuses", default="", metavar="WORDS", help="List only these, as never_tested,skipped.")
@click.option("--registration", "registrations", default="", metavar="WORDS", help="List only these, as kernel,none.")
@click.option("--op", default="", help="List only the overloads of this op, as add.")
@click.option("--limit", type=click.IntRange(0), default=50, show_default=True, help="Overloads listed in a table.")
@click.option("--format", "form", type=click.Choice(["table", "json", "ndjson"]), default="table", show_default=True,
              help="json and ndjson list every overload that is asked for.")  # fmt: skip
def show_inventory(
    run: str | None, other: str | None, target: str | None, release: str | None, statuses: str, registrations: str,
    op: str, limit: int, form: str,
) -> None:  # fmt: skip
    """Say for each aten overload who serves it, and what the tests of a RUN say of it; of two runs, what changed.

    RUN is a run id, a release's name or a run's folder; the newest stored run when none is given.

    Example: conformance inventory sim-1.1 --status never_tested --registration kernel
    """
    wanted = Wanted(
        statuses=_words(statuses, Status), registrations=_words(registrations, Registration), op=op, limit=limit,
        form=form,
    )  # fmt: skip
    if target is not None or release is not None:
        _require_no_run(run, target)
        inventory_screen.show(_registered(target or "", release), wanted)
    elif other is None:
        inventory_screen.show(_of_run(run or ""), wanted)
    else:
        inventory_screen.compare(_of_run(run or ""), _of_run(other), wanted)


def _words(given: str, known: type[W]) -> tuple[W, ...]:
    asked = [each.strip() for each in given.split(",") if each.strip()]
    for each in asked:
        if each not in {word.value for word in known}:
            raise UsageError(
                f"unknown {known.__name__.lower()} {screen.safe(each, 80)!r}: choose from {', '.join(known)}"
            )
    return tuple(known(each) for each in asked)


def _require_no_run(run: str | None, target: str | None) -> None:
    if target is None:
        raise UsageError("--release belongs to --target: name a target, or give the release as the RUN")
    if run is not None:
        raise UsageError("--target asks a target as it is here, without a run: leave the RUN out, or --target")


def _registered(name: str, release: str | None) -> Named:
    target = targets.get(name)
    request = Request(
        target=target, release=targets.choose_release(target, release), selection=Selection(suites=("ops",)),
        workers=1, limits=Limits(),
    )  # fmt: skip
    with listening() as stopped:
        runner = Runner(
            settings=settings.load(), progress=progress.choose(sys.stderr), say=screen.remark, stopped=stopped
        )
        overloads = runner.ask(request)
    of: dict[str, object] = {"target": target.name, "release": request.release, "simulated": target.simulated}
    return Named(of=of, found=Inventory(overloads=overloads))


def _of_run(name: str) -> Named:
    path = Path(name)
    if name and (path / "run.json").is_file():
        return _of_folder(RunFolder(path=path))
    with open_store() as opened:
        return _of_stored(opened, name)


def _of_folder(folder: RunFolder) -> Named:
    header = folder.read_header()
    of: dict[str, object] = {
        "run": header.run, "target": header.target, "release": header.release, "simulated": header.simulated
    }  # fmt: skip
    return Named(of=of, found=_required(inventory.of_folder(folder), header.run))


def _of_stored(opened: Store, name: str) -> Named:
    if name:
        resolved = resolve(opened, name)
        run, remark = resolved.run, resolved.remark
    else:
        newest = list_runs(opened, limit=1)
        if not newest:
            raise UsageError("no run is stored: start one with 'conformance run', or ask a target with --target")
        run, remark = newest[0], f"the newest stored run is {newest[0].uid}"
    if remark:
        screen.remark(remark)
    of: dict[str, object] = {
        "run": run.uid, "target": run.target, "release": run.release, "simulated": run.simulated
    }  # fmt: skip
    return Named(of=of, found=_required(find_inventory(opened, run), run.uid))


def _required(found: Inventory | None, run: str) -> Inventory:
    if found is None:
        raise IncompleteError(
            f"run {screen.safe(run)} has no inventory: nothing asked the dispatcher before it; run the tests again"
        )
    return found
