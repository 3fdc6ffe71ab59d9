"""`conformance run --suite ops` beside a bare loop over the same case functions, on one worker, in CPU seconds.

Both leave out what is paid once: importing PyTorch, planning and starting the device. The run pays for the rest:
journals, shards, forks, supervision, classification. CPU seconds are those of all processes of a command; those of a
dry run, which imports and plans the same, are taken off. Rounds alternate; the smallest of each counts, since other
work on the machine only adds. Bar: at most 1.10.
"""

import argparse
import contextlib
import importlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from conformance import plan, suites, targets
from conformance.record import RunFolder

BAR = 1.10
OPS = (
    "add,mul,sum,softmax,cumsum,sin,where,matmul,sub,div,exp,log,tan,cos,gather,scatter,index_select,cat,stack,var,std,"
    "mean,amax,amin,sort,topk,bmm,mm,addmm,flip,roll,tril"
)
"""About a thousand tests: a run's fixed cost, 0.7 CPU seconds for child processes, is not what is asked about."""


def main() -> int:
    """Measure and print; 1 when the bar is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--ops", default=OPS)
    options.add_argument("--target", default="sim")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--bare", metavar="RUN", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.bare:
        print(bare(RunFolder(path=Path(given.bare))))
        return 0
    with tempfile.TemporaryDirectory() as home:
        return compare(given.ops, given.target, given.rounds, Path(home))


def compare(ops: str, target: str, rounds: int, home: Path) -> int:
    """Alternate the two; the first run only warms caches and leaves its plan."""
    environment = {**os.environ, "CONFORMANCE_HOME": str(home), "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable,
        "-c",
        "from conformance.cli import main; main()",
        "run",
        "--target",
        target,
        "--ops",
        ops,
    ]
    running = [*command, "-n", "1", "--no-ingest", "--format", "json"]
    spent(running, environment)
    folder = RunFolder(path=next((home / "runs").iterdir()))
    runs, loops = [], []
    for _ in range(rounds):
        loops.append(loop(folder, environment))
        runs.append(spent(running, environment) - spent([*command, "--dry-run"], environment))
    tests = sum(test.decided is None for test in plan.read(folder.plan))
    ratio = min(runs) / min(loops)
    print(f"{tests} tests: conformance run {min(runs):.2f} CPU s, bare loop {min(loops):.2f} CPU s, ", end="")
    print(f"ratio {ratio:.3f} (bar {BAR})")
    return int(ratio > BAR)


def spent(command: list[str], environment: dict[str, str]) -> float:
    """CPU seconds of a command and all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def loop(folder: RunFolder, environment: dict[str, str]) -> float:
    """The bare loop in a process of its own."""
    command = [sys.executable, __file__, "--bare", str(folder.path)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def bare(folder: RunFolder) -> float:
    """Call the case function of each test that is run, and nothing else; CPU seconds."""
    header = folder.read_header()
    target = targets.get(header.target)
    os.environ.update(target.environment(header.release))
    tests = [test for test in plan.read(folder.plan) if test.decided is None]
    suite = suites.get("ops")
    for name in (*suite.preload, *suite.warm(tests)):
        importlib.import_module(name)
    import torch

    from conformance.suites.ops import runner
    from conformance.suites.ops.quiet import quiet

    torch.set_num_threads(1)
    device = target.activate(header.release)
    began = time.process_time()
    with quiet():
        for test in tests:
            with contextlib.suppress(Exception):
                runner.case_function(test.id.kind)(runner.prepare(test.id, device))
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
