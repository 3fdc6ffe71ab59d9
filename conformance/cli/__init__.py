"""The command line: one module a command, loaded when it is called."""

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Final

import click

from conformance.cli import streams
from conformance.entry import leaving_at_once
from conformance.errors import ConformanceError, ExitCode

COMMANDS: Final[Mapping[str, str]] = {
    "run": "conformance.cli.run:run",
    "runs": "conformance.cli.runs:runs",
    "show": "conformance.cli.show:show",
    "trends": "conformance.cli.trends:trends",
    "diff": "conformance.cli.diff:diff",
    "gate": "conformance.cli.gate:gate",
    "export": "conformance.cli.export:export",
    "inventory": "conformance.cli.inventory:show_inventory",
    "explain": "conformance.cli.explain:explain",
    "skips": "conformance.cli.skips:skips",
    "repro": "conformance.cli.repro:repro",
    "ingest": "conformance.cli.ingest:ingest",
    "bundle": "conformance.cli.bundle:bundle",
    "import": "conformance.cli.bundle:import_bundle",
    "targets": "conformance.cli.targets:show_targets",
    "expectations": "conformance.cli.expectations:expectations",
    "upstream": "conformance.cli.upstream:upstream",
    "db": "conformance.cli.db:db",
}
"""Command to where it is; commands of other packages arrive by the entry point group `conformance.commands`."""


class Commands(click.Group):
    """A group whose commands are imported only when they are called, so that `--help` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *sorted(entry_points(group="conformance.commands").names)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, function = COMMANDS[cmd_name].partition(":")
            with leaving_at_once():
                command: click.Command = getattr(import_module(module), function)
            return command
        for each in entry_points(group="conformance.commands", name=cmd_name):
            with leaving_at_once():
                plugged: click.Command = each.load()
            return plugged
        return None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="neuron-conformance")
def cli() -> None:
    """Conformance of a PyTorch accelerator backend: run, browse, compare.

    Example: conformance run --target sim --ops add,softmax
    """


def main() -> None:
    """Run the command line; every error is one sentence on stderr and an exit code of the vocabulary."""
    out = streams.settle()
    try:
        code = cli.main(prog_name="conformance", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        sys.exit(_say("interrupted", ExitCode.INTERRUPTED))
    except click.ClickException as error:
        sys.exit(_say(_usage(error), ExitCode.USAGE))
    except ConformanceError as error:
        sys.exit(_say(str(error), error.code))
    if out.trouble:
        sys.exit(_say(f"the output could not be written: {out.trouble}", ExitCode.STORE))
    sys.exit(code if isinstance(code, int) else ExitCode.FINE)


def _usage(error: click.ClickException) -> str:
    """One sentence with where to read on; the whole help when a group was called without a command."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return "no command is given: choose one of those above"
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = context.command_path if context else "conformance"
    message = error.format_message().rstrip(".")
    return f"{message}{'' if message.endswith('?') else ':'} `{command} --help` shows how to call it"


def _say(sentence: str, code: ExitCode) -> int:
    click.echo(f"conformance: {sentence} (exit {int(code)}: {code.name.lower()})", err=True)
    return int(code)
