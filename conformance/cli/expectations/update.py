"""`conformance expectations update`: the edit that makes expectations say what a run showed."""

from collections.abc import Sequence
from pathlib import Path

import click

from conformance import settings, targets
from conformance.cli import earlier, screen, stale
from conformance.errors import ExitCode, StoreError, UsageError
from conformance.expectations import blocks, editing, files, proposals, standing
from conformance.expectations.chosen import Chosen
from conformance.expectations.editing import Edited
from conformance.expectations.proposals import Proposal
from conformance.expectations.standing import Edit
from conformance.expectations.writing import many
from conformance.plan import RunHeader
from conformance.record import Result, read_results


@click.command()
@click.option("--from", "run", required=True, metavar="RUN", help="The run to go by: its id or its folder.")
@click.option("--into", type=click.Path(path_type=Path), metavar="FILE",
              help="File for new entries.  [default: the run's first own file, else the shipped one]")  # fmt: skip
@click.option("--write", is_flag=True, help="Make the edits; without it they are only shown.")
def update(run: str, into: Path | None, write: bool) -> int:
    """Show the exact edit, as a unified diff: stale entries removed or shortened, new failures proposed.

    A proposed entry has an empty reason and owner. It is refused wherever it is read until somebody fills them in.

    Example: conformance expectations update --from 20261130-190501-sim-3f2a | less
    """
    folder = earlier.folder(settings.load(), run)
    header, results = folder.read_header(), read_results(folder)
    edits = [each.edit(header.selection) for each in standing.standings(stale.entries(header), results) if each.stale]
    added = proposals.proposals(results, files.today(), _releases(header))
    edited = _edited(edits, added, _into(header, into) if added else None)
    for each in edited:
        for line in blocks.lines_of(each.diff()):
            screen.say("\t".join(map(screen.safe, line.rstrip("\n").split("\t"))))
    _remarks(edits, edited, results)
    changed = [each for each in edited if each.before != each.after]
    if not changed:
        return screen.finish(ExitCode.FINE, "the files say what the run showed: nothing to edit")
    return _write(changed, added) if write else screen.finish(ExitCode.FINE, "nothing was written: --write does it")


def _releases(header: RunHeader) -> tuple[str, ...]:
    """The run's release, where the target has several: of others the run shows nothing."""
    return (header.release,) if header.release in targets.get(header.target).releases() else ()


def _into(header: RunHeader, given: Path | None) -> Path:
    if given is not None:
        return given
    known = Chosen.of_facts(header.environment).paths(header.target)
    if not known:
        raise UsageError(f"target {header.target!r} has no expectation file yet: name one with --into FILE")
    return known[0]


def _edited(edits: Sequence[Edit], added: Sequence[Proposal], into: Path | None) -> list[Edited]:
    by_path = dict(editing.by_path([each for each in edits if each.removes or each.narrowings]))
    if into is not None:
        by_path.setdefault(into, [])
    made = []
    for path, found in by_path.items():
        text = files.read(path).decode() if path.exists() else ""
        new = _new(text, added) if path == into else []
        made.append(editing.apply(path, text, found, new))
    return made


def _new(text: str, added: Sequence[Proposal]) -> list[str]:
    """Proposals that the file does not have yet."""
    return [each.text() for each in added if f'id = "{each.entry.id}"' not in text]


def _remarks(edits: Sequence[Edit], edited: Sequence[Edited], results: Sequence[Result]) -> None:
    for each in edits:
        if each.left:
            screen.remark(screen.safe(f"{standing.rule_of(each.standing.written)}: {each.sentence()}"))
    for edit in (edit for each in edited for edit in each.undone):
        rule = standing.rule_of(edit.standing.written)
        screen.remark(screen.safe(f"{rule}: its text does not allow the edit, make it by hand: {edit.sentence()}"))
    for rule, counts in proposals.otherwise(results).items():
        found = ", ".join(f"{number:,} {outcome.word}" for outcome, number in counts.items())
        screen.remark(screen.safe(f"{rule}: {found} that it does not foresee: look at what changed"))
    if left_out := proposals.flaky(results):
        screen.remark(
            f"{many(left_out, 'flaky failure')} left out: a strict expectation would be wrong every other time"
        )


def _write(changed: Sequence[Edited], added: Sequence[Proposal]) -> int:
    for each in changed:
        partial = each.path.with_suffix(f"{each.path.suffix}.partial")
        try:
            partial.write_text(each.after, encoding="utf-8")
            partial.replace(each.path)
        except OSError as error:
            raise StoreError(f"{each.path} cannot be written: {error.strerror or error}") from error
    names = ", ".join(str(each.path) for each in changed)
    fill_in = "; fill in owner and reason of the new entries" if added else ""
    return screen.finish(ExitCode.FINE, f"wrote {names}{fill_in}")
