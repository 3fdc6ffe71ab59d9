"""The options of `conformance run`, from words to a checked request."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from conformance import expectations, reuse, suites, targets
from conformance.cli import earlier, screen, trees
from conformance.cli.trees import TreeWish
from conformance.errors import UsageError
from conformance.expectations import Chosen, today
from conformance.outcomes import Outcome, Stage
from conformance.plan import FLEX, MODEL_OPS, MODELS, UPSTREAM, Selection
from conformance.record import RunFolder
from conformance.settings import Settings
from conformance.supervision import environment, leases
from conformance.supervision.isolating import Isolate
from conformance.supervision.running import Request, request_of
from conformance.supervision.watch import Limits

_FIXED = ("target", "release", "suite", "ops", "tests", "profile", "catalogue", "mode", "dtype", "extend_flex_devices",
          "calls", "reuse")  # fmt: skip
_TOLD = ("expectations", "probe_coverage")
_LISTS = ("suite", "ops", "mode", "dtype")
_WORDS = (
    "target", "release", "suite", "ops", "tests", "resume", "failed_of", "only", "fail_on", "expectations", "upstream",
    "catalogue", "mode", "dtype", "calls",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Wishes:
    """The options as given, lists taken apart."""

    target: str | None
    release: str | None
    suite: tuple[str, ...]
    ops: tuple[str, ...]
    tests: tuple[str, ...]
    profile: str | None
    workers: int | None
    resume: str | None
    failed_of: str | None
    only: Path | None
    dry_run: bool
    format: str
    fail_on: tuple[Outcome, ...]
    timeout: float
    compile_timeout: float
    stage_timeout: tuple[str, ...]
    no_ingest: bool
    expectations: tuple[Path, ...]
    probe_coverage: bool
    isolate: Isolate
    upstream: str | None
    allow_upstream_mismatch: bool
    catalogue: str | None
    mode: tuple[str, ...]
    dtype: tuple[str, ...]
    extend_flex_devices: bool
    reuse: bool
    calls: str | None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Wishes":
        """From the command line's options. Raises UsageError for an unknown outcome or an option without a value."""
        for name in _WORDS:
            _require_value(name, options[name])
        lists = {name: split(options[name]) for name in _LISTS}
        outcomes = tuple(map(_outcome, split(options["fail_on"])))
        return cls(
            **{**options, **lists, "fail_on": outcomes, **_paths(options), "isolate": Isolate(options["isolate"] or "")}
        )

    @property
    def told(self) -> Chosen:
        """The expectation files and probing asked for, by option or variable, as of today."""
        by_variables = Chosen.of_environment()
        return Chosen(
            files=tuple(each.absolute() for each in self.expectations) or by_variables.files,
            probe=self.probe_coverage or by_variables.probe, day=by_variables.day or today(),
        )  # fmt: skip

    @property
    def limits(self) -> Limits:
        """Time limits in seconds. Raises UsageError for one of no stage."""
        return Limits(test=self.timeout, compile=self.compile_timeout, stages=_stages(self.stage_timeout))

    def resumed(self, settings: Settings) -> RunFolder | None:
        """The run to go on with, if one is named."""
        return earlier.folder(settings, self.resume) if self.resume else None

    def request(self, settings: Settings) -> Request:
        """The checked request. Raises UsageError for anything unknown or contradictory."""
        workers = self.workers or min(environment.cores(), len(leases.allowed(os.environ)))
        if (folder := self.resumed(settings)) is not None:
            self._require_nothing_else("resume")
            header = folder.read_header()
            told = Chosen.of_facts(header.environment)
            request = request_of(header.target, header.release, header.selection, workers, self.limits, told)
            tree = trees.of_run(settings.cache, header.environment, self.upstream)
            return replace(request, upstream=tree, isolate=self.isolate)
        wish = TreeWish(cache=settings.cache, path=self.upstream, allowed=self.allow_upstream_mismatch)
        if self.only and not self.failed_of:
            raise UsageError("--only is given without --failed-of: name the run whose tests the file lists")
        request = self._failed(settings, self.failed_of, workers) if self.failed_of else self._new(workers, wish)
        if self.calls:
            calls = str(earlier.folder(settings, self.calls).path.absolute())
            request = replace(request, selection=structs.replace(request.selection, calls=calls))
        selection, used = wish.apply(request.selection)
        return replace(request, selection=selection, upstream=used, isolate=self.isolate)

    def _new(self, workers: int, wish: TreeWish) -> Request:
        if self.target is None:
            raise UsageError(f"--target is missing: choose one of {', '.join(targets.names())}")
        target = targets.get(self.target)
        release = targets.choose_release(target, self.release)
        return Request(
            target=target, release=release, selection=self._reusable(self._selection(wish)), workers=workers,
            limits=self.limits, told=self._checked(self.target, release), reuse=self.reuse,
        )  # fmt: skip

    def _reusable(self, selection: Selection) -> Selection:
        """The selection; UsageError when outcomes are to be taken over and no suite of it allows that."""
        if self.reuse and not set(reuse.SUITES) & set(selection.suites):
            raise UsageError(
                f"--reuse is for suite {', '.join(reuse.SUITES)}, which this run does not have: leave it out"
            )
        return selection

    def _checked(self, target: str, release: str) -> Chosen:
        """What is told, its files read once so that a broken one is refused before anything starts."""
        told = self.told
        expectations.load(target, release, told)
        return told

    def _selection(self, wish: TreeWish) -> Selection:
        chosen = self.suite or self._implied()
        named = [each for name in chosen for each in self._suites(name, wish)]
        for name in named:
            suites.module_of(name)
        return Selection(
            suites=tuple(dict.fromkeys(named)), profile=self.profile or "default", ops=self.ops,
            tests=self.tests, catalogue=str(Path(self.catalogue).absolute()) if self.catalogue else "",
            modes=self.mode, dtypes=self.dtype, extend_flex_devices=self.extend_flex_devices,
        )  # fmt: skip

    def _implied(self) -> tuple[str, ...]:
        """The suite that is meant where none is named."""
        if self.tests or self.upstream:
            return (UPSTREAM,)
        if self.extend_flex_devices:
            return (FLEX,)
        if self.calls:
            return (MODEL_OPS,)
        return (MODELS,) if self.catalogue or self.mode or self.dtype else ("ops",)

    def _suites(self, name: str, wish: TreeWish) -> tuple[str, ...]:
        if name != "all":
            return (name,)
        if self.tests or wish.there():
            return suites.names()
        screen.remark("suite upstream is left out: there is no PyTorch tree, `conformance upstream fetch` gets one")
        return tuple(each for each in suites.names() if each != UPSTREAM)

    def _failed(self, settings: Settings, run: str, workers: int) -> Request:
        self._require_nothing_else("failed_of")
        only = earlier.listed(self.only) if self.only else frozenset[str]()
        target, release, selection = earlier.failed(settings, run, only)
        return request_of(target, release, selection, workers, self.limits, self._checked(target, release))

    def _require_nothing_else(self, option: str) -> None:
        fixed = (*_FIXED, *(_TOLD if option == "resume" else ()), "resume", "failed_of")
        given = [name for name in fixed if getattr(self, name) and name != option]
        if given:
            name, other = (each.replace("_", "-") for each in (given[0], option))
            raise UsageError(f"--{name} cannot be given with --{other}, which takes it from the earlier run")


def _stages(given: Iterable[str]) -> dict[Stage, float]:
    """Seconds by stage, from STAGE=S."""
    found: dict[Stage, float] = {}
    for each in split(given):
        stage, _, seconds = each.partition("=")
        try:
            found[Stage(stage)] = float(seconds)
        except ValueError:
            known = ", ".join(Stage)
            raise UsageError(f"--stage-timeout {each!r} is not STAGE=SECONDS: a stage is one of {known}") from None
        if not 0.1 <= found[Stage(stage)] < float("inf"):
            raise UsageError(f"--stage-timeout {each!r} allows no useful time: give seconds from 0.1")
    return found


def _require_value(name: str, given: str | Sequence[str] | None) -> None:
    """An empty value, as from a variable that is not set, must not widen a run to everything."""
    if not given and given != "":
        return
    each = (given,) if isinstance(given, str) else given
    if not all(split([value]) for value in each):
        option = name.replace("_", "-")
        raise UsageError(f"--{option} is given without a value: write one, or leave --{option} out")


def _paths(options: Mapping[str, Any]) -> dict[str, Any]:
    only = options["only"]
    return {"expectations": tuple(map(Path, options["expectations"])), "only": Path(only) if only else None}


def split(given: Iterable[str]) -> tuple[str, ...]:
    """Words from options that may be repeated and may hold commas."""
    return tuple(word.strip() for each in given for word in each.split(",") if word.strip())


def _outcome(word: str) -> Outcome:
    try:
        return Outcome.from_word(word)
    except ValueError as error:
        raise UsageError(f"--fail-on: {error}") from None
