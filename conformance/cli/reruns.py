"""The tests that block, run again alone on this machine before a gate says so."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from conformance import settings, store
from conformance.cli import earlier, screen, trees
from conformance.expectations import Chosen
from conformance.gate.gating import Verdict, numbers_of
from conformance.gate.judging import Word
from conformance.progress import Silent
from conformance.settings import Settings
from conformance.store import RunRow, Store
from conformance.supervision.isolating import Isolate
from conformance.supervision.running import Runner, request_of
from conformance.supervision.stopping import listening
from conformance.supervision.watch import Limits


def worth_it(verdict: Verdict) -> bool:
    """Whether running again can change the verdict; says why not."""
    if verdict.word is not Word.BLOCKED or not verdict.causes:
        return False
    for each in verdict.facts:
        mine = int((each.blocked & verdict.effective).sum())
        if mine > each.rules.max_rerun:
            screen.remark(
                f"{mine:,} tests of suite {each.suite} block, more than max_rerun {each.rules.max_rerun:,}: "
                "these are no flakes, none is run again"
            )
            return False
    return True


def run_again(opened: Store, verdict: Verdict, times: int) -> list[str]:
    """Run the tests that block again so often, and alone; the ids of the runs, which are stored.

    Raises what `conformance run` raises: the target must be here, its release and the tests' files too.
    """
    known, compared = settings.load(), verdict.compared
    keys = defaultdict[int, set[str]](set)
    numbers = numbers_of(verdict)
    for number, key in zip(numbers.tolist(), store.keys_of(opened, numbers), strict=True):
        keys[int(compared.picked[1][number])].add(key)
    made = []
    for _ in range(times):
        for place, wanted in sorted(keys.items()):
            run = compared.runs[1][place]
            screen.remark(f"running {len(wanted):,} blocked tests of run {screen.safe(run.uid)} again, alone")
            made.append(_run(opened, known, run, frozenset(wanted)))
    return made


def _run(opened: Store, known: Settings, run: RunRow, keys: frozenset[str]) -> str:
    target, release, selection = earlier.failed(known, run.uid, keys)
    told = Chosen.of_facts(run.environment)
    request = request_of(target, release, selection, 1, Limits(), told)
    request = replace(request, isolate=Isolate.ALL, upstream=trees.of_run(known.cache, run.environment, None))
    with listening() as stopped:
        runner = Runner(settings=known, progress=Silent(), say=screen.remark, stopped=stopped)
        ended = runner.start(request)
    if ended.error is not None:
        raise ended.error
    return store.ingest(opened, Path(ended.folder.path)).run
