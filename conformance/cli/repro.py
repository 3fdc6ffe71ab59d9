"""`conformance repro`: run one test alone, in a child as in a run, and show what it came to."""

import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from conformance import plan, settings, suites, targets
from conformance.cli import earlier, screen
from conformance.cli.trees import TreeWish
from conformance.errors import ExitCode, UsageError
from conformance.expectations import Chosen
from conformance.outcomes import Attempt, TestId
from conformance.plan import RunHeader, Selection
from conformance.progress import Silent
from conformance.record import Result, read_results
from conformance.settings import Settings
from conformance.supervision.running import Request, Runner
from conformance.supervision.stopping import listening
from conformance.supervision.watch import Limits

_SHOWN = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """The test and what it is to be run on; `tests` are the files of suite upstream, `tree` is where PyTorch's
    are, `catalogue` is the one of suite models, `extend` is for suite flex_attention,
    `calls` the folder of the run whose calls suite model_ops replays."""

    key: str
    target: str
    release: str | None
    tests: tuple[str, ...] = ()
    tree: str = ""
    catalogue: str = ""
    extend: bool = False
    calls: str = ""


@click.command()
@click.argument("test")
@click.option("--run", "run", metavar="RUN", help="Look the test up in this run.  [default: the newest]")
@click.option("--target", metavar="T", help="Run it on this target.  [default: the run's]")
@click.option("--release", metavar="R", help="Run it on this release.  [default: the run's]")
@click.option("--sample", type=click.IntRange(0), metavar="N", help="Only this sample input, as a failure names it.")
@click.option("--tests", multiple=True, metavar="PATH", help="The file that has it.  [default: the run's]")
@click.option("--upstream", metavar="PATH", help="The PyTorch source tree that has it.  [default: the run's]")
@click.option("--extend-flex-devices", is_flag=True, help="Let FlexAttention take the device.  [default: the run's]")
@click.option("--timeout", type=click.FloatRange(0.1), default=Limits().test, show_default=True,
              help="Seconds it may take, compilation not counted.")  # fmt: skip
def repro(test: str, run: str | None, target: str | None, release: str | None, sample: int | None,
          tests: tuple[str, ...], upstream: str | None, extend_flex_devices: bool, timeout: float) -> int:  # fmt: skip
    """Print the command that runs one test alone, run it, and show what it came to.

    TEST is an identity, or the end of one, or any part that only one test of the run has.

    Example: conformance repro forward::add::float32 --target sim --sample 3
    """
    known = settings.load()
    wanted = _wanted(known, test, run, target, release)
    wanted = replace(
        wanted, tests=tests or wanted.tests, tree=upstream or wanted.tree, extend=extend_flex_devices or wanted.extend
    )
    request = _request(known, wanted, sample, timeout)
    screen.remark(_command(wanted, request))
    with listening() as stopped, tempfile.TemporaryDirectory(prefix="conformance-") as path:
        runner = Runner(settings=known, progress=Silent(), say=lambda _line: None, stopped=stopped)
        ended = runner.start(request, Path(path) / "run")
        results = read_results(ended.folder)
    if ended.error is not None:
        raise ended.error
    _show(results[0])
    return screen.finish(ExitCode.FINE, f"the test ended as {results[0].outcome.word}")


def _wanted(known: Settings, test: str, run: str | None, target: str | None, release: str | None) -> Wanted:
    if run is None and target is not None and _is_identity(test):
        return Wanted(key=test, target=target, release=release)
    folder = earlier.folder(known, run) if run else earlier.latest(known)
    header = folder.read_header()
    key = unique([each.key for each in plan.read(folder.plan)], test, header.run)
    same = target is None or target == header.target
    tests, tree = _place(header, key)
    return Wanted(
        key=key, target=target or header.target, release=release or (header.release if same else None), tests=tests,
        tree=tree, catalogue=header.selection.catalogue, extend=header.selection.extend_flex_devices,
        calls=str(folder.path.absolute()) if key.startswith(f"{plan.MODEL_OPS}::") else "",
    )  # fmt: skip


def _is_identity(test: str) -> bool:
    """Whether it is a whole identity: a suite and three more parts; a test's name may hold `::` too."""
    suite, *rest = test.split("::")
    return suite in suites.names() and len(rest) >= 3


def _place(header: RunHeader, key: str) -> tuple[tuple[str, ...], str]:
    """The test files that the run was given, or the tree whose file has the test."""
    suite, file, cls, name = key.split("::", 3)
    test = TestId(suite=suite, file=file, cls=cls, name=name)
    if any(plan.names_test(each, test) for each in header.selection.files):
        return (), header.environment.get("upstream.path", "")
    return tuple(each for each in header.selection.tests if each not in header.selection.files), ""


def unique(keys: Sequence[str], test: str, run: str) -> str:
    """The one key that is `test`, ends with it, or has it as a part. Raises UsageError for none and for several."""
    for matches in (str.__eq__, str.endswith, str.__contains__):
        found = [key for key in keys if matches(key, test)]
        if len(found) == 1:
            return found[0]
        if found:
            some = ", ".join(screen.safe(key, 120) for key in found[:_SHOWN])
            raise UsageError(
                f"{screen.safe(test, 120)!r} fits {len(found)} tests of run {run}, as {some}: write more of it"
            )
    raise UsageError(f"no test of run {run} fits {screen.safe(test, 120)!r}: `conformance show {run}` lists them")


def _request(known: Settings, wanted: Wanted, sample: int | None, timeout: float) -> Request:
    target, (suite, file, *_) = targets.get(wanted.target), wanted.key.split("::")
    if sample is not None and suite == plan.UPSTREAM:
        raise UsageError(
            f"--sample {sample} picks an input of suite ops: tests of suite upstream have none, leave it out"
        )
    files = (f"{file}.py",) if suite == plan.UPSTREAM and not wanted.tests else ()
    selection = Selection(
        suites=(suite,), profile="full", tests=wanted.tests, keys=(wanted.key,), files=files,
        catalogue=wanted.catalogue, extend_flex_devices=wanted.extend, calls=wanted.calls,
    )  # fmt: skip
    # Whatever version the run allowed: nothing is recorded here, and a remark tells of it.
    wish = TreeWish(cache=known.cache, path=wanted.tree or None, allowed=True)
    selection, used = wish.apply(selection)
    return Request(
        target=target, release=targets.choose_release(target, wanted.release), selection=selection, workers=1,
        limits=replace(Limits(), test=timeout), sample=sample, upstream=used,
        told=replace(Chosen.of_environment(), probe=True),
    )  # fmt: skip


def _command(wanted: Wanted, request: Request) -> str:
    sample = () if request.sample is None else ("--sample", str(request.sample))
    tests = [part for each in wanted.tests for part in ("--tests", each)]
    tree = ("--upstream", wanted.tree) if wanted.tree else ()
    command = ["conformance", "repro", wanted.key, "--target", wanted.target, "--release", request.release]
    extended = ("--extend-flex-devices",) if wanted.extend else ()
    return screen.safe(shlex.join([*command, *sample, *tests, *tree, *extended]))


def _show(result: Result) -> None:
    for number, attempt in enumerate(result.attempts, 1):
        _show_attempt(number, attempt)
    if (probed := result.test.probed) is not None:
        screen.say(screen.safe(f"in a run {probed.rule} skips this test: {probed.reason}"))
    flaky = " (flaky: attempts disagree)" if result.flaky else ""
    screen.say(f"outcome: {result.outcome.word}{flaky}")


def _show_attempt(number: int, attempt: Attempt) -> None:
    spent = ", ".join(f"{phase} {seconds:.3f} s" for phase, seconds in attempt.seconds.items())
    facts = {
        "rule": attempt.rule, "ran on": attempt.ran_on, "stage": attempt.stage, "time": spent, "code": attempt.code,
        "fallback ops": ", ".join(attempt.fallback_ops),
    }  # fmt: skip
    screen.say(f"attempt {number}: {attempt.outcome.word}")
    for name, value in facts.items():
        if value:
            screen.say(f"  {name}: {screen.safe(value)}")
    for text in (attempt.message, attempt.detail):
        if text:
            screen.say(screen.paragraph(text))
