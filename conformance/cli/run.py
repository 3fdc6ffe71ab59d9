"""`conformance run`: plan, run, record, store, and say what came of it."""

import sys
from typing import Any

import click

from conformance import progress, settings
from conformance.cli import report, screen
from conformance.cli.wishes import Wishes
from conformance.errors import ExitCode, IncompleteError, InterruptedRunError
from conformance.outcomes import Outcome
from conformance.record import read_results
from conformance.summary import Summary
from conformance.supervision.running import Ended, Runner
from conformance.supervision.stopping import listening
from conformance.supervision.watch import Limits


@click.command()
@click.option("--target", metavar="T", help="What to sweep; `conformance targets` lists them.")
@click.option(
    "--release", metavar="R", help="Release of the backend, on target sim a simulated one.  [default: newest]"
)
@click.option(
    "--suite",
    multiple=True,
    metavar="S",
    help="ops, upstream, models, model_ops, flex_attention or all; with commas.  [default: ops]",
)
@click.option("--ops", multiple=True, metavar="OPS", help="Only these operators, as add,softmax.")
@click.option("--tests", multiple=True, metavar="PATH", help="Test file or folder; test_ops.py is PyTorch's.")
@click.option("--profile", type=click.Choice(["default", "full"]), help="Chosen dtypes, or all.  [default: default]")
@click.option("-n", "--workers", type=click.IntRange(1, 512), help="Children side by side.  [default: one a CPU core]")
@click.option("--resume", metavar="RUN", help="Go on with a run that was interrupted.")
@click.option("--failed-of", metavar="RUN", help="Run again what failed in that run.")
@click.option("--only", metavar="FILE", help="With --failed-of: of that run the tests in this file, one a line.")
@click.option("--dry-run", is_flag=True, help="Show the plan and write nothing.")
@click.option("--format", type=click.Choice(["table", "json", "ndjson"]), default="table", show_default=True)
@click.option("--fail-on", multiple=True, metavar="WORDS", help="Exit 1 when a test ends so, as fail,crash.")
@click.option("--timeout", type=click.FloatRange(0.1), default=Limits().test, show_default=True,
              help="Seconds a test may take, compilation not counted.")  # fmt: skip
@click.option("--compile-timeout", type=click.FloatRange(0.1), default=Limits().compile, show_default=True,
              help="Seconds the compile stage of a test may take.")  # fmt: skip
@click.option("--stage-timeout", multiple=True, metavar="STAGE=S", help="Seconds of one stage, as reference=30.")
@click.option("--expectations", multiple=True, metavar="FILE", help="An expectation file beside the shipped one.")
@click.option("--probe-coverage", is_flag=True, help="Run what coverage entries skip, and say which are stale.")
@click.option("--catalogue", metavar="PATH", help="Models of suite models: JSONL, a folder or one config.json.")
@click.option("--mode", multiple=True, metavar="M", help="How suite models runs them.  [default: eager]")
@click.option("--dtype", multiple=True, metavar="D", help="Dtypes of suite models.  [default: float32]")
@click.option("--calls", metavar="RUN", help="Suite model_ops: replay the calls of that run's models.")
@click.option("--extend-flex-devices", is_flag=True, help="Let FlexAttention take the device, in suite flex_attention.")
@click.option("--upstream", metavar="PATH", help="PyTorch source tree to take test files from.  [default: fetched]")
@click.option("--allow-upstream-mismatch", is_flag=True, help="Run the tests of one PyTorch version on another.")
@click.option("--isolate", type=click.Choice(["suspects", "all"]), is_flag=False, flag_value="suspects",
              help="Run each failed test alone once more, or every test: is the order to blame?")  # fmt: skip
@click.option(
    "--reuse", is_flag=True, help="Take over outcomes of models that nothing has changed for; each is marked."
)
@click.option("--no-ingest", is_flag=True, help="Keep the run's folder; store it later with `conformance ingest`.")
def run(**options: Any) -> int:
    """Run the suites on a target and store the run.

    Example: conformance run --target sim --release sim-1.1 --ops add,softmax -n 2
    """
    wishes = Wishes.of(options)
    with listening() as stopped:
        known, shown = settings.load(), progress.choose(sys.stderr)
        if not (wishes.no_ingest or wishes.dry_run):
            report.require_address(known.database_url)
        runner = Runner(settings=known, progress=shown, say=report.remark, stopped=stopped)
        if wishes.dry_run:
            request = wishes.request(runner.settings)
            report.show_plan(runner.plan(request), request, wishes.format)
            return screen.finish(ExitCode.FINE, "nothing was run")
        ended = _run(runner, wishes)
        return _conclude(ended, wishes, wanted=not (wishes.no_ingest or stopped.hasty))


def _run(runner: Runner, wishes: Wishes) -> Ended:
    request = wishes.request(runner.settings)
    folder = wishes.resumed(runner.settings)
    return runner.start(request) if folder is None else runner.resume(folder, request)


def _conclude(ended: Ended, wishes: Wishes, *, wanted: bool) -> int:
    done = Summary(header=ended.folder.read_header(), results=read_results(ended.folder))
    report.show(done, wishes.format)
    if ended.error is None:
        report.store(ended.folder, wanted=wanted)
        return _verdict(done, wishes)
    report.remark(f"go on with: conformance run --resume {done.header.run}")
    if isinstance(ended.error, IncompleteError | InterruptedRunError):
        report.store_if_possible(ended.folder, wanted=wanted)
    raise ended.error


def _verdict(done: Summary, wishes: Wishes) -> int:
    if left := done.counts[Outcome.NOT_RUN]:
        raise IncompleteError(f"{left} of {len(done.results)} planned tests have no outcome")
    hit = [outcome for outcome in wishes.fail_on if done.counts[outcome]]
    if hit:
        found = ", ".join(f"{done.counts[outcome]} {outcome.word}" for outcome in hit)
        return screen.finish(ExitCode.REGRESSION, f"--fail-on: {found}")
    return screen.finish(ExitCode.FINE, f"run {done.header.run} is complete")
