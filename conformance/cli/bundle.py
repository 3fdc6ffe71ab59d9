"""`conformance bundle` and `conformance import`: runs from one machine to another, with checksums."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from conformance import bundles, settings, store
from conformance.bundles import Manifest
from conformance.cli import earlier, screen
from conformance.errors import ExitCode, StoreError, UsageError
from conformance.record import RunFolder
from conformance.store import Store
from conformance.store.columns import load


@click.group()
def bundle() -> None:
    """Make a bundle of a run, or verify one.

    Example: conformance bundle write 20261130-190501-sim-3f2a
    """


@bundle.command()
@click.argument("run")
@click.option("--out", metavar="FILE", help="Where to.  [default: RUN.tar.gz in this folder]")
def write(run: str, out: str | None) -> int:
    """Put the folder of RUN (an id or a path) into one file: plan, outcomes, environment, expectations, checksums."""
    folder = earlier.folder(settings.load(), run)
    target = Path(out or f"{folder.read_header().run}.tar.gz")
    try:
        made = bundles.write(folder, target)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror or error}") from error
    _say(made)
    return screen.finish(ExitCode.FINE, f"{screen.safe(str(target))} has {target.stat().st_size:,} bytes")


@bundle.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--digest", metavar="HEX", help="What the bundle's maker said that its digest is.")
def verify(file: Path, digest: str | None) -> int:
    """Check that FILE is whole and tells of one run; nothing is stored."""
    with _unpacked(file, Path(tempfile.gettempdir()), digest) as (made, _):
        _say(made)
    return screen.finish(ExitCode.FINE, f"the bundle of run {made.run} is whole")


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--digest", metavar="HEX", help="What the bundle's maker said that its digest is.")
def import_bundle(file: Path, digest: str | None) -> int:
    """Verify the bundle FILE and store its run. Storing one twice changes nothing.

    Example: conformance import 20261130-190501-sim-3f2a.tar.gz
    """
    runs = settings.load().runs
    runs.mkdir(parents=True, exist_ok=True)
    with store.open_store() as opened, _unpacked(file, runs, digest) as (made, folder):
        _require_new(opened, made, folder)
        place = _settled(folder, runs / made.run)
        done = store.ingest(opened, place)
        _say(made)
    state = "was stored already" if done.unchanged else "is stored"
    return screen.finish(ExitCode.FINE, f"run {done.run} {state}, {done.planned:,} tests")


@contextmanager
def _unpacked(file: Path, beside: Path, digest: str | None) -> Iterator[tuple[Manifest, Path]]:
    """A checked bundle's manifest and the folder with its files, which is deleted unless it was moved away."""
    folder = Path(tempfile.mkdtemp(prefix=".import-", dir=beside))
    try:
        made = bundles.unpack(file, folder)
        if digest is not None and digest.strip().lower() != made.digest:
            raise UsageError(f"the bundle {file} is refused: its digest is {made.digest}, not {digest}")
        yield made, folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _require_new(opened: Store, made: Manifest, folder: Path) -> None:
    known = store.find_run(opened, made.run)
    if known is not None and known.digest != load(RunFolder(path=folder)).digest:
        raise UsageError(f"run {made.run!r} is stored already and is another: ids name one run for ever")


def _settled(folder: Path, place: Path) -> Path:
    """The folder under the run's name; the one that is there already when it holds the same run."""
    if place.exists():
        here = RunFolder(path=place)
        if not here.header.is_file() or load(here).digest != load(RunFolder(path=folder)).digest:
            raise UsageError(f"{place} is there already and holds something else: move it away")
        return place
    folder.chmod(0o755)
    return folder.rename(place)


def _say(made: Manifest) -> None:
    label = " (simulated)" if made.simulated else ""
    counts = ", ".join(f"{number:,} {word}" for word, number in made.outcomes.items())
    screen.say(screen.safe(f"run {made.run}: {made.release} on {made.target}{label}, torch {made.torch}"))
    screen.say(screen.safe(f"{made.planned:,} planned: {counts}"))
    screen.say(f"{len(made.files):,} files, digest {made.digest}")
