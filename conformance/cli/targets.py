"""`conformance targets`: what can be swept, and what each target needs on this machine."""

import sys
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance import summary, targets
from conformance.cli import screen
from conformance.errors import ExitCode
from conformance.targets import Target


@click.command("targets")
@click.argument("name", required=False)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def show_targets(name: str | None, form: str) -> int:
    """List the targets with what each needs: present or missing, and the remedy.

    Example: conformance targets trn2
    """
    found = [targets.get(each) for each in ([name] if name else targets.names())]
    if form == "json":
        click.echo(summary.json({"targets": [_document(each) for each in found]}))
    else:
        _draw(found)
    missing = [each.name for each in found if not _ready(each)]
    return screen.finish(
        ExitCode.FINE, f"not usable here: {', '.join(missing)}" if missing else "every target is usable"
    )


def _ready(target: Target) -> bool:
    return all(check.present for check in target.checks())


def _document(target: Target) -> dict[str, Any]:
    return {
        "name": target.name,
        "simulated": target.simulated,
        "description": target.description,
        "releases": list(target.releases()),
        "ready": _ready(target),
        "checks": [{"name": check.name, "present": check.present, "remedy": check.remedy} for check in target.checks()],
    }


def _draw(found: list[Target]) -> None:
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 160)
    for target in found:
        console.print(Text(f"{target.name}: {target.description}", style="bold"))
        releases = ", ".join(target.releases()) or "named by the installed backend"
        console.print(Text(f"  releases: {releases}"))
        drawn = Table(show_header=False, box=None, padding=(0, 1), pad_edge=True)
        for check in target.checks():
            state = "present" if check.present else "missing"
            drawn.add_row(Text("  " + state), Text(check.name), Text("" if check.present else check.remedy))
        console.print(drawn)
