"""A whole run: leases, fork server, plan, device, header, session. Displays nothing but progress."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from conformance import inventory, plan, reuse, targets
from conformance.engines.local import LocalEngine
from conformance.errors import ConformanceError, IncompleteError, InterruptedRunError, StoreError, UsageError
from conformance.expectations import Chosen
from conformance.inventory import Overloads
from conformance.plan import PlannedTest, RunHeader, Selection
from conformance.progress import Progress
from conformance.record import RunFolder, read_results
from conformance.settings import Settings
from conformance.supervision import durations, environment, given, leases
from conformance.supervision.isolating import Isolate
from conformance.supervision.leases import Lease
from conformance.supervision.planning import Planner
from conformance.supervision.session import Session, hold, new_run_id
from conformance.supervision.sources import Sources
from conformance.supervision.watch import Limits
from conformance.targets import Target
from conformance.upstream import choice
from conformance.upstream.choice import Used


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What was asked for, checked; `workers` children work side by side; `told` is what expectation files there are.

    `upstream` is the PyTorch tree that test files are taken from, `isolate` which tests are run alone in the end.
    With `reuse`, outcomes of earlier runs are taken over.
    """

    target: Target
    release: str
    selection: Selection
    workers: int
    limits: Limits
    sample: int | None = None
    isolate: Isolate = Isolate.NONE
    told: Chosen = field(default_factory=Chosen.of_environment)
    upstream: Used | None = None
    reuse: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A run that was begun: its folder, and why it stopped short, if it did."""

    folder: RunFolder
    error: ConformanceError | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Runner:
    """Runs requests. `say` takes one line for the user; `stopped` tells of Ctrl-C."""

    settings: Settings
    progress: Progress
    say: Callable[[str], None]
    stopped: Callable[[], bool]

    def plan(self, request: Request) -> list[PlannedTest]:
        """What would be run; nothing is left on the disk."""
        with tempfile.TemporaryDirectory(prefix="conformance-") as path:
            folder = RunFolder(path=Path(path))
            with self._engine(request, folder) as engine:
                return self._planner(request, folder, engine).collect(request.selection)

    def ask(self, request: Request) -> Overloads:
        """How the device serves the aten overloads here and now; nothing is left on the disk.

        Raises IncompleteError when no lease can use the device, or when its torch cannot be asked.
        """
        with tempfile.TemporaryDirectory(prefix="conformance-") as path, ExitStack() as stack:
            folder = RunFolder(path=Path(path))
            held, engine = self._equip(stack, request, folder)
            facts = self._planner(request, folder, engine).survey(request.selection.suites[0], held, folder.overloads)
            found = inventory.read(folder.overloads)
        if found is None:
            raise IncompleteError(f"the dispatcher cannot be asked: {facts.get('inventory', 'it has no torch')}")
        return found

    def start(self, request: Request, path: Path | None = None) -> Ended:
        """A new run, in `path` or among the runs. Raises what planning raises: then nothing is left of it."""
        run = new_run_id(request.target.name)
        folder = RunFolder(path=path or self.settings.runs / run)
        with ExitStack() as stack:
            stack.enter_context(_disk(folder))
            folder.path.mkdir(parents=True, exist_ok=True)
            stack.callback(_drop_headless, folder)
            _hold(stack, folder)
            sources = _sources(request)
            held, engine = self._equip(stack, request, folder)
            planner = self._planner(request, folder, engine)
            tests = self._collect(planner, request.selection)
            device = planner.survey(request.selection.suites[0], held, folder.overloads, tests)
            header = _header(run, request, tests, device)
            folder.create(header, tests)
            self.say(f"run {run}: {len(tests)} tests planned, {len(held)} at a time")
            self._take_over(request, folder, header, tests)
            return self._session(request, folder, header, tests, engine, held, sources)

    def resume(self, folder: RunFolder, request: Request) -> Ended:
        """Go on with a run. Raises UsageError when anything that decides outcomes has changed since."""
        header = folder.read_header()
        with ExitStack() as stack:
            stack.enter_context(_disk(folder))
            _hold(stack, folder)
            sources = _sources(request)
            held, engine = self._equip(stack, request, folder)
            planner = self._planner(request, folder, engine)
            _require_same(header, environment.fingerprint(header.target, header.release, header.selection.suites))
            _require_same(header, {"expectation files": request.told.digest(), **choice.prints(request.upstream)})
            _require_same(header, given.prints(header.selection))
            tests = self._collect(planner, header.selection)
            _require_same(header, {"plan": plan.digest(tests)})
            device = planner.survey(header.selection.suites[0], held, folder.overloads, tests)
            _require_same(header, _device_facts(device))
            self.say(f"run {header.run}: going on, {len(tests)} tests planned")
            return self._session(request, folder, header, tests, engine, held, sources)

    def _take_over(self, request: Request, folder: RunFolder, header: RunHeader, tests: Sequence[PlannedTest]) -> None:
        """Record outcomes of earlier runs as this one's, where that is asked for."""
        if request.reuse:
            found = reuse.find(self.settings.runs, header, tests)
            reuse.write(folder, found)
            self.say(f"run {header.run}: {len(found)} outcomes are taken over from earlier runs")

    def _collect(self, planner: Planner, selection: Selection) -> list[PlannedTest]:
        self.say(f"planning {', '.join(selection.suites)} …")
        return planner.collect(selection)

    def _equip(self, stack: ExitStack, request: Request, folder: RunFolder) -> tuple[list[Lease], LocalEngine]:
        folder_of_locks = self.settings.home / "leases" / request.target.name
        held = leases.acquire(folder_of_locks, request.workers, leases.allowed(os.environ))
        for each in held:
            stack.callback(each.release)
        return held, stack.enter_context(self._engine(request, folder))

    @contextmanager
    def _engine(self, request: Request, folder: RunFolder) -> Iterator[LocalEngine]:
        folder.logs.mkdir(parents=True, exist_ok=True)
        variables = {**request.target.environment(request.release), **request.told.variables()}
        variables.update(choice.variables(request.upstream))
        engine = LocalEngine(variables=variables, logs=folder.logs)
        try:
            yield engine
        finally:
            engine.close()

    def _planner(self, request: Request, folder: RunFolder, engine: LocalEngine) -> Planner:
        path = folder.path / "planning"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return Planner(
            engine=engine,
            folder=path,
            target=request.target.name,
            release=request.release,
            stopped=self.stopped,
            say=self.say,
        )

    def _session(
        self, request: Request, folder: RunFolder, header: RunHeader, tests: Sequence[PlannedTest],
        engine: LocalEngine, held: Sequence[Lease], sources: Sources,
    ) -> Ended:  # fmt: skip
        session = Session(
            folder=folder, header=header, tests=tests, engine=engine, leases=held, limits=request.limits,
            progress=self.progress, stopped=self.stopped, home=self.settings.home, sources=sources,
            sample=request.sample, isolate=request.isolate,
        )  # fmt: skip
        error = self._attempt(session)
        shutil.rmtree(folder.path / "planning", ignore_errors=True)
        durations.save(durations.path_of(self.settings.home, header.target), read_results(folder))
        return Ended(folder=folder, error=error)

    def _attempt(self, session: Session) -> ConformanceError | None:
        try:
            return None if session.run() else InterruptedRunError("interrupted: the run can be resumed")
        except KeyboardInterrupt:
            return InterruptedRunError("interrupted at once: the run can be resumed")
        except ConformanceError as error:
            return error
        finally:
            self.progress.close()


def request_of(target: str, release: str, selection: Selection, workers: int, limits: Limits, told: Chosen) -> Request:
    """A request for what an earlier run had. Raises UsageError when the target no longer has the release."""
    found = targets.get(target)
    known = found.releases()
    if known and release not in known:
        raise UsageError(
            f"the earlier run was of release {release!r}, which target {target!r} no longer has: start a new run with "
            f"one of {', '.join(known)}"
        )
    return Request(target=found, release=release, selection=selection, workers=workers, limits=limits, told=told)


def _sources(request: Request) -> Sources:
    ours = environment.code_files(request.target.name, request.selection.suites)
    named = given.files(request.selection)
    return Sources.of([*ours, *choice.sources(request.upstream, request.selection.files), *named])


def _header(run: str, request: Request, tests: Sequence[PlannedTest], device: dict[str, str]) -> RunHeader:
    facts = _device_facts(device)
    prints = environment.fingerprint(request.target.name, request.release, request.selection.suites)
    cache = environment.cache_state(request.target.compile_cache())
    return RunHeader(
        run=run, target=request.target.name, release=request.release, simulated=request.target.simulated,
        selection=request.selection, plan_digest=plan.digest(tests), planned=len(tests), started=time.time(),
        fingerprint={
            **prints, **facts, "plan": plan.digest(tests), "expectation files": request.told.digest(),
            **choice.prints(request.upstream), **given.prints(request.selection),
        },
        environment={
            **environment.describe(), **facts, **request.told.facts(), "workers": str(request.workers),
            "cache.compile": cache, **_options(request),
            **(request.upstream.facts() if request.upstream else {}),
        },
    )  # fmt: skip


def _options(request: Request) -> dict[str, str]:
    """What changes the machinery under test, or where outcomes are from: a run's environment tells of it too."""
    extended = {"option.extend-flex-devices": "on"} if request.selection.extend_flex_devices else {}
    return extended | ({reuse.OPTION: "on"} if request.reuse else {})


def _device_facts(device: dict[str, str]) -> dict[str, str]:
    # Which core the survey had, and whether it was reset, says nothing about the run.
    ours = (leases.VISIBLE_CORES, leases.RESET_CORES)
    return {f"device.{name}": value for name, value in device.items() if name not in ours}


def _require_same(header: RunHeader, now: dict[str, str]) -> None:
    changed = [name for name, value in now.items() if header.fingerprint.get(name) != value]
    if changed:
        name = changed[0]
        before = header.fingerprint.get(name, "unknown")
        raise UsageError(
            f"run {header.run} cannot be resumed: its {name} was {before} and is {now[name]} now; start a new run"
        )


def _hold(stack: ExitStack, folder: RunFolder) -> None:
    stack.callback(os.close, hold(folder))


def _drop_headless(folder: RunFolder) -> None:
    """What planning left is no run: without a header nothing can be resumed."""
    if not folder.header.exists():
        shutil.rmtree(folder.path, ignore_errors=True)


@contextmanager
def _disk(folder: RunFolder) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{folder.path} cannot be written: {error.strerror or error}") from error
