"""`conformance expectations`: check, edit and import coverage and expectation files."""

import click

from conformance.cli.expectations.imported import import_
from conformance.cli.expectations.lint import lint
from conformance.cli.expectations.update import update


@click.group()
def expectations() -> None:
    """Check, edit and import coverage and expectation files.

    Example: conformance expectations lint --target sim
    """


for _command in (lint, update, import_):
    expectations.add_command(_command)
