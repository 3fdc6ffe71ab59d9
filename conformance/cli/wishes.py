"""The options of `conformance run`, from words to a checked request."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance import environment, suites, targets
from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.pairs import SIDE, Side
from conformance.plan import Selection
from conformance.record import RunFolder, read_results
from conformance.running import Request, only, request_of
from conformance.settings import Settings
from conformance.watch import Limits

RERUN: Final = frozenset({each for each, side in SIDE.items() if side is Side.FAILURE} - {Outcome.XFAIL}) | {
    Outcome.XPASS
}
"""What `--failed-of` runs again: failures that nobody foresaw, and expected failures that did not come."""

_FIXED = ("target", "release", "suite", "ops", "tests", "profile")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wishes:
    """The options as given, lists taken apart."""

    target: str | None
    release: str | None
    suite: tuple[str, ...]
    ops: tuple[str, ...]
    tests: tuple[Path, ...]
    profile: str | None
    workers: int | None
    resume: str | None
    failed_of: str | None
    dry_run: bool
    format: str
    fail_on: tuple[Outcome, ...]
    timeout: float
    compile_timeout: float
    no_ingest: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Wishes":
        """From the command line's options. Raises UsageError for an unknown outcome."""
        lists = {name: split(options[name]) for name in ("suite", "ops")}
        return cls(**{**options, **lists, "fail_on": tuple(map(_outcome, split(options["fail_on"])))})

    @property
    def limits(self) -> Limits:
        """Time limits in seconds."""
        return Limits(test=self.timeout, compile=self.compile_timeout)

    def resumed(self, settings: Settings) -> RunFolder | None:
        """The run to go on with, if one is named."""
        return find_folder(settings, self.resume) if self.resume else None

    def request(self, settings: Settings) -> Request:
        """The checked request. Raises UsageError for anything unknown or contradictory."""
        workers = self.workers or environment.cores()
        if (folder := self.resumed(settings)) is not None:
            self._require_nothing_else()
            return request_of(folder.read_header(), workers, self.limits)
        if self.failed_of:
            return self._failed(find_folder(settings, self.failed_of), workers)
        return self._new(workers)

    def _new(self, workers: int) -> Request:
        if self.target is None:
            raise UsageError(f"--target is missing: choose one of {', '.join(targets.names())}")
        target = targets.get(self.target)
        return Request(
            target=target, release=targets.choose_release(target, self.release), selection=self._selection(),
            workers=workers, limits=self.limits,
        )  # fmt: skip

    def _selection(self) -> Selection:
        chosen = self.suite or (("upstream",) if self.tests else ("ops",))
        named = [each for name in chosen for each in self._suites(name)]
        for name in named:
            suites.module_of(name)
        return Selection(
            suites=tuple(dict.fromkeys(named)), profile=self.profile or "default", ops=self.ops,
            tests=tuple(str(path) for path in self.tests),
        )  # fmt: skip

    def _suites(self, name: str) -> tuple[str, ...]:
        if name != "all":
            return (name,)
        # Suite upstream has nothing to collect until it is given test files.
        return tuple(each for each in suites.names() if each != "upstream" or self.tests)

    def _failed(self, folder: RunFolder, workers: int) -> Request:
        header = folder.read_header()
        failed = [each.test.id for each in read_results(folder) if each.outcome in RERUN]
        if not failed:
            raise UsageError(f"nothing failed in run {header.run}: there is nothing to run again")
        before = request_of(header, workers, self.limits)
        return only(before, [each.key for each in failed], list(dict.fromkeys(each.suite for each in failed)))

    def _require_nothing_else(self) -> None:
        given = [name for name in (*_FIXED, "failed_of") if getattr(self, name)]
        if given:
            raise UsageError(f"--{given[0].replace('_', '-')} cannot be changed by --resume: leave it out")


def split(given: Iterable[str]) -> tuple[str, ...]:
    """Words from options that may be repeated and may hold commas."""
    return tuple(word.strip() for each in given for word in each.split(",") if word.strip())


def find_folder(settings: Settings, run: str) -> RunFolder:
    """The folder of a run, by its id or its path. Raises UsageError when there is none."""
    for path in (settings.runs / run, Path(run)):
        if (path / "run.json").is_file():
            return RunFolder(path=path)
    raise UsageError(f"there is no run {run!r} in {settings.runs}: `conformance runs` lists them")


def latest_folder(settings: Settings) -> RunFolder:
    """The newest run's folder. Raises UsageError when there is none."""
    found = sorted(settings.runs.glob("*/run.json"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise UsageError(f"there is no run in {settings.runs} yet: start one with `conformance run`")
    return RunFolder(path=found[-1].parent)


def _outcome(word: str) -> Outcome:
    try:
        return Outcome.from_word(word)
    except ValueError as error:
        raise UsageError(f"--fail-on: {error}") from None
