"""`conformance expectations import`: lists that other projects keep, as entries of ours."""

from pathlib import Path
from typing import Final

import click

from conformance import plan, settings, targets
from conformance.cli import earlier, screen
from conformance.errors import ExitCode, UsageError
from conformance.expectations import files
from conformance.expectations.entries import SKIP
from conformance.expectations.imports import entries, resolve
from conformance.expectations.imports.formats import FORMATS, List
from conformance.expectations.imports.resolve import Resolved
from conformance.expectations.writing import many, plain, text_of

_LONGEST: Final = 300


@click.command("import")
@click.argument("form", metavar="FORMAT", type=click.Choice(list(FORMATS)))
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--target", metavar="T", help="Refuse a plan of another target.")
@click.option("--owner", metavar="O", default="", help="Who looks after the entries; to be filled in where not given.")
@click.option("--plan-of", metavar="RUN", help="Look names up in this run's plan.")
def import_(form: str, path: Path, target: str | None, owner: str, plan_of: str | None) -> int:
    """Print a list of another project as [[skip]] entries with whole identities; nothing of the list is run.

    FORMAT is disabled-tests (PyTorch's JSON, and Ascend's), list (one test a line) or skip-dict (a Python file with a
    dictionary skip_dict, as torch-xpu-ops keeps). What cannot be told exactly is listed as unresolved.

    Example: conformance expectations import skip-dict skip_list_common.py --plan-of RUN > mine.toml
    """
    listed = FORMATS[form](files.read(path))
    resolved = _resolved(listed, target, plan_of)
    made = list(entries.entries(resolved, path, owner, files.today()))
    for each in made:
        screen.say(text_of(SKIP, each))
    for test, why in resolved.left:
        where = f"{test.file}: " if test.file else ""
        screen.say(f"# unresolved: {plain(f'{where}{test.name}'[:_LONGEST])}: {plain(why[:_LONGEST])}")
    for sentence in listed.left_out:
        screen.remark(f"left out: {sentence}")
    return _finish(listed, resolved, sum(len(each.tests) for each in made), plan_of)


def _resolved(listed: List, target: str | None, plan_of: str | None) -> Resolved:
    if target:
        targets.get(target)
    patterns = sum(each.pattern for each in listed.tests)
    if not plan_of:
        if patterns:
            raise UsageError(
                f"{many(patterns, 'part')} of names can only be expanded by a plan: give one with --plan-of RUN"
            )
        return resolve.without_plan(listed.tests)
    folder = earlier.folder(settings.load(), plan_of)
    found = folder.read_header().target
    if target and found != target:
        raise UsageError(f"run {plan_of!r} is of target {found!r}, not of {target!r}: name a run of that target")
    return resolve.Plan(each.id for each in plan.read(folder.plan)).resolve(listed.tests)


def _finish(listed: List, resolved: Resolved, keys: int, plan_of: str | None) -> int:
    checked = "" if plan_of else ", not checked against a plan"
    whole = many(len(listed.tests), "entry", "entries")
    said = f"{len(resolved.found):,} of {whole} resolved to {many(keys, 'test')}{checked}"
    if resolved.left:
        said += f"; {len(resolved.left):,} unresolved"
    if not resolved.found:
        return screen.finish(ExitCode.INCOMPLETE, said)
    return screen.finish(ExitCode.FINE, said)
