"""The shipped catalogue of models, eager, on two workers: rates, memory, and the ratio to a plain loop.

The run plans, builds, finds inputs, computes on the CPU and on the simulated device, compares, proves, journals and
attributes. The loop is what a script does by hand: one process goes through the same signatures one by one, builds each
from the reduced configuration that the run found to work, fills the inputs that the run found, runs it on the CPU and
on the device and compares with torch.allclose. It searches nothing and records nothing. Memory is the proportional set
size of all processes, read twice a second. Bars of the run: 15 minutes, 4 GB.

    python benchmarks/sweep.py                            # everything
    python benchmarks/sweep.py --profile default          # the 100 most downloaded architectures
    python benchmarks/sweep.py --every 5                  # the loop over every fifth signature alone, its time scaled
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import msgspec
from _gauge import Spent, measured

from conformance import record, targets
from conformance.record import RunFolder

SECONDS = 15 * 60.0
BYTES = 4e9


def main() -> int:
    """Measure and print; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=("full", "default"), default="full")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take only every Nth signature for the loop")
    parser.add_argument("--bare", metavar="RUN", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        bare(RunFolder(path=Path(options.bare)), options.every)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return compare(Path(folder), options)


def compare(home: Path, options: argparse.Namespace) -> int:
    """The run, then the loop over what the run found."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    variables = {**threads, "CONFORMANCE_HOME": str(home)}
    command = [sys.executable, "-P", "-c", "from conformance.cli import main; main()", "run", "--target", "sim"]
    command += ["--suite", "models", "--profile", options.profile, "-n", "2", "--no-ingest", "--format", "json"]
    ours = measured(command, variables, home)
    runs = sorted((home / "runs").glob("*"))
    if not runs:
        sys.exit(f"conformance run left no run:\n{ours.output[-3000:]}")
    folder = RunFolder(path=runs[-1])
    signatures, ids = told(folder)
    loop = measured(
        [sys.executable, __file__, "--bare", str(folder.path), "--every", str(options.every)], variables, home
    )
    done = looped(loop)
    show(ours, loop, done, signatures, ids, options.every)
    return int(ours.wall > SECONDS or ours.all > BYTES)


def told(folder: RunFolder) -> tuple[int, int]:
    """Signatures that the run started, and ids that share them; prints what they ended as."""
    started = [each for each in record.read_results(folder) if each.test.decided is None]
    counts = Counter(each.outcome.word for each in started)
    print(f"{len(started)} signatures: " + ", ".join(f"{number} {word}" for word, number in counts.most_common()))
    run = {each.test.id.name.partition("_")[0] for each in started}
    lines = (folder.path / "models" / "attribution.jsonl").read_bytes().splitlines()
    return len(started), sum(msgspec.json.decode(line).get("signature") in run for line in lines)


def looped(loop: Spent) -> dict[str, Any]:
    """What the loop printed last."""
    lines = loop.output.strip().splitlines()
    if not lines or not lines[-1].startswith("{"):
        sys.exit(f"the loop came to no end:\n{loop.output[-3000:]}")
    found: dict[str, Any] = msgspec.json.decode(lines[-1])
    return found


def show(ours: Spent, loop: Spent, done: dict[str, Any], signatures: int, ids: int, every: int) -> None:
    """The figures side by side; the loop's are for as many signatures as the run's."""
    minutes = ours.wall / 60
    print(f"{signatures / minutes:,.0f} signatures a minute, {ids / minutes:,.0f} ids a minute ({ids:,} ids)")
    whole = signatures / done["tried"]
    sample = "" if every == 1 else f" (every {every}th, times {whole:.2f})"
    print(f"the loop: {done['tried']} signatures{sample}, {done['right']} right, {done['other']} not")
    print(f"{'':<28}{'conformance run':>16}{'plain loop':>14}{'ratio':>8}")
    rows = (
        ("wall clock, s", ours.wall, done["wall"] * whole), ("CPU, s", ours.cpu, done["cpu"] * whole),
        ("memory of all, MB", ours.all / 1e6, loop.all / 1e6),
        ("largest process, MB", ours.one / 1e6, loop.one / 1e6),
    )  # fmt: skip
    for what, mine, other in rows:
        print(f"{what:<28}{mine:>16.1f}{other:>14.1f}{other / mine:>8.2f}")
    print(f"bars: {SECONDS:.0f} s, {BYTES / 1e6:.0f} MB")


def bare(folder: RunFolder, every: int) -> None:
    """Build and run each signature by hand; prints counts and seconds, imports and the device's start included."""
    began, spent = perf_counter(), process_time()
    header = folder.read_header()
    target = targets.get(header.target)
    os.environ.update(target.environment(header.release))
    import torch

    torch.set_num_threads(1)
    device = target.activate(header.release).device
    counts: Counter[bool] = Counter()
    for one in _found(folder)[::every]:
        try:
            counts[by_hand(torch, device, *one)] += 1
        except Exception:
            counts[False] += 1
    print(msgspec.json.encode({
        "tried": counts.total(), "right": counts[True], "other": counts[False], "wall": perf_counter() - began,
        "cpu": process_time() - spent,
    }).decode())  # fmt: skip


def _found(folder: RunFolder) -> list[tuple[Any, dict[str, Any], dict[str, Any]]]:
    """Class, configuration and inputs of every signature that the run could build and run."""
    from sweeps import signature
    from sweeps.facts import Facts
    from sweeps.floats import decoded

    models = folder.path / "models"
    known = {each.id: each for each in signature.read(models / "signatures.jsonl")}
    lines = [line for path in sorted(models.glob("facts-*.jsonl")) for line in path.read_bytes().splitlines()]
    facts = [msgspec.json.decode(line, type=Facts) for line in lines]
    ids = [each.key.rpartition("::")[2].partition("_")[0] for each in facts]
    return [
        (known[one].of, decoded(each.config), each.inputs) for one, each in zip(ids, facts, strict=True) if each.inputs
    ]


def by_hand(torch: Any, device: str, architecture: Any, config: dict[str, Any], inputs: dict[str, Any]) -> bool:
    """Whether one model gives on the device what it gives on the CPU."""
    from sweeps import building
    from sweeps.inputs.filling import tensors
    from sweeps.stages.trial import answer, on

    model = building.model(architecture, config)
    given = tensors(inputs)
    with torch.no_grad():
        torch.manual_seed(0)
        want = answer(model(**{name: on(each, "cpu", torch.float32) for name, each in given.items()}))
        model.to(device)
        torch.manual_seed(0)
        got = answer(model(**{name: on(each, device, torch.float32) for name, each in given.items()}))
    return all(
        torch.allclose(got[name].cpu(), each, rtol=1e-3, atol=1e-4, equal_nan=True) for name, each in want.items()
    )


if __name__ == "__main__":
    sys.exit(main())
