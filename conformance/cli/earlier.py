"""Earlier runs: their folders, and what failed in them, from the store where a folder is gone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from conformance import plan
from conformance.errors import UsageError
from conformance.outcomes import Outcome, TestId
from conformance.pairs import SIDE, Side
from conformance.plan import UPSTREAM, Selection
from conformance.record import RunFolder, read_results
from conformance.settings import Settings

RERUN: Final = frozenset({each for each, side in SIDE.items() if side is Side.FAILURE} - {Outcome.XFAIL}) | {
    Outcome.XPASS
}
"""What `--failed-of` runs again: failures that nobody foresaw, and expected failures that did not come."""


Chosen = tuple[str, str, Selection]
"""Target, release and selection of a run."""


def folder(settings: Settings, run: str) -> RunFolder:
    """The folder of a run, by its id or its path. Raises UsageError when there is none."""
    if (found := _existing(settings, run)) is not None:
        return found
    raise UsageError(f"there is no run {run!r} in {settings.runs}: `conformance runs` lists them")


def latest(settings: Settings) -> RunFolder:
    """The newest run's folder. Raises UsageError when there is none."""
    found = sorted(settings.runs.glob("*/run.json"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise UsageError(f"there is no run in {settings.runs} yet: start one with `conformance run`")
    return RunFolder(path=found[-1].parent)


def _existing(settings: Settings, run: str) -> RunFolder | None:
    for path in (settings.runs / run, Path(run)):
        if (path / "run.json").is_file():
            return RunFolder(path=path)
    return None


def failed(settings: Settings, run: str, only: frozenset[str] = frozenset()) -> Chosen:
    """What to run so that the failures of a run are run again; with `only` its tests of these identities instead.

    Raises UsageError when it had none, lacks one of them, or is unknown.
    """
    found = _existing(settings, run)
    if found is None:
        return _failed_in_store(run, only)
    header = found.read_header()
    if only:
        ids = [each.id for each in plan.read(found.plan) if each.key in only]
        _require_all(header.run, ids, only)
    else:
        ids = [each.test.id for each in read_results(found) if each.outcome in RERUN]
    return header.target, header.release, _again(header.run, header.selection, ids)


def listed(path: Path) -> frozenset[str]:
    """The identities of a file, one a line. Raises UsageError when it cannot be read or has none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--only {str(path)!r} cannot be read: {error}") from error
    found = frozenset(stripped for each in lines if (stripped := each.strip()))
    if not found:
        raise UsageError(f"--only {str(path)!r} lists no test: write an identity a line")
    return found


def _require_all(run: str, ids: Sequence[TestId], only: frozenset[str]) -> None:
    absent = sorted(only - {each.key for each in ids})
    if absent:
        raise UsageError(f"{len(absent)} of the listed tests are not in run {run}, as {absent[0]!r}: take them out")


def _failed_in_store(name: str, only: frozenset[str]) -> Chosen:
    # Imported late: SQLAlchemy is not needed for a run that is still on the disk.
    from conformance import store

    with store.open_store() as opened:
        run = store.resolve(opened, name).run
        chosen = store.Filter(outcomes=frozenset() if only else RERUN)
        page = store.outcome_rows(opened, run, chosen, limit=max(1, run.planned))
    ids = [row.id for row in page.rows if not only or row.key in only]
    if only:
        _require_all(run.uid, ids, only)
    return run.target, run.release, _again(run.uid, run.selection, ids)


def _again(run: str, before: Selection, failed: Sequence[TestId]) -> Selection:
    if not failed:
        raise UsageError(f"nothing failed in run {run}: there is nothing to run again")
    return Selection(
        suites=tuple(dict.fromkeys(each.suite for each in failed)), profile=before.profile, tests=before.tests,
        keys=tuple(each.key for each in failed), files=_files(before, failed), catalogue=before.catalogue,
        calls=before.calls, extend_flex_devices=before.extend_flex_devices,
    )  # fmt: skip


def _files(before: Selection, failed: Sequence[TestId]) -> tuple[str, ...]:
    """Of the files of a PyTorch tree that a run had, those with a failure."""
    files = {each.file for each in failed if each.suite == UPSTREAM}
    return tuple(f"{each}.py" for each in sorted(files)) if before.files else ()
