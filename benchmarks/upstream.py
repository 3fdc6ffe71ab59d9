"""The same upstream file under `conformance run` and under plain `pytest --junitxml`, both on two workers.

Plain pytest has the same device, told to PyTorch's harness in the same way, and runs the same tests: those that the
coverage file skips are left out there, and so are those outside --ops. Its recorder is JUnit's file. Both sides are
measured in one run: wall clock, CPU seconds of all processes, and memory by proportional set size, so that what
processes share counts once. Then outcome and reason are compared test by test.

    python benchmarks/upstream.py                                  # a file of 1,600 tests that is written for this
    python benchmarks/upstream.py --file …/test/test_ops.py --ops add,sum --upstream …
"""

import argparse
import json
import os
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from _gauge import Spent, measured

from conformance import record
from conformance.outcomes import Outcome
from conformance.pytest_hooks.identity import class_without_device, without_device
from conformance.record import Result, RunFolder

DEVICE = "neuron"
GOAL = 1.7
FILE = """
import torch
from torch.testing._internal.common_device_type import OpDTypes, instantiate_device_type_tests, onlyCUDA, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase, slowTest

SOME = [each for each in op_db if not each.variant_test_name][::6]


class TestCommon(TestCase):
    @ops(SOME, allowed_dtypes=(torch.float32, torch.int64, torch.bool))
    def test_samples(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            op(sample.input, *sample.args, **sample.kwargs)

    @onlyCUDA
    @ops(SOME)
    def test_of_cuda(self, device, dtype, op):
        pass

    @slowTest
    @ops(SOME, dtypes=OpDTypes.none)
    def test_slow(self, device, op):
        pass

    @ops(SOME, allowed_dtypes=(torch.float32,))
    def test_out(self, device, dtype, op):
        if not op.supports_out:
            self.skipTest("Skipped! Op doesn't support out= kwarg.")
        self.assertEqual(torch.ones(2, device=device).device.type, torch.device(device).type)


instantiate_device_type_tests(TestCommon, globals())
"""
PEER = """
import json, os
from conformance import targets
from conformance.pytest_hooks import activation
from conformance.pytest_hooks.identity import class_without_device, without_device

activation.activate(activation.choose("sim", os.environ["BENCH_RELEASE"]))
KEPT = {tuple(each) for each in json.load(open(os.environ["BENCH_TESTS"]))}


def pytest_collection_modifyitems(items):
    items[:] = [each for each in items if key(each) in KEPT]


def key(item):
    cls = getattr(item, "cls", None)
    device = str(getattr(cls, "device_type", "") or "")
    name = without_device(item.name, device, {})[0] if device else item.name
    return (class_without_device(cls.__name__, device) if device else getattr(cls, "__name__", ""), name)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """What to run and where."""

    file: Path
    folder: Path
    options: argparse.Namespace

    def variables(self, **more: str) -> dict[str, str]:
        """For both sides: one thread a process, as each has a core."""
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        return {**threads, "CONFORMANCE_HOME": str(self.folder / "home"), **more}

    def ours(self, *more: str, cached: bool = False) -> Spent:
        """`conformance run` of the file, planned anew unless its plan may be kept."""
        command = [sys.executable, "-P", "-c", "from conformance.cli import main; main()", "run", "--target", "sim"]
        command += ["--release", self.options.release, "--suite", "upstream", "--tests", str(self.file), "-n", "2"]
        command += ["--no-ingest", *(["--ops", self.options.ops] if self.options.ops else []), *more]
        if self.options.upstream:
            command += ["--upstream", self.options.upstream, "--allow-upstream-mismatch"]
        off = {} if cached else {"CONFORMANCE_NO_PLAN_CACHE": "1"}
        return measured(command, self.variables(**off), self.folder)

    def theirs(self, *more: str) -> Spent:
        """Plain pytest of the same tests."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "bench_peer", "--noconftest"]
        command += ["-c", os.devnull, "--rootdir", str(self.file.parent), *more, str(self.file)]
        paths = [str(self.folder), os.environ.get("PYTHONPATH", "")]
        variables = {
            "BENCH_TESTS": str(self.folder / "tests.json"), "BENCH_RELEASE": self.options.release,
            "PYTHONPATH": os.pathsep.join(each for each in paths if each),
        }  # fmt: skip
        return measured(command, self.variables(**variables), self.file.parent)


def main() -> int:
    """Measure and print; 1 when outcomes differ or the goal is missed."""
    with tempfile.TemporaryDirectory() as folder:
        bench = _bench(Path(folder))
        planning = bench.ours("--dry-run", "--format", "json")
        ours = bench.ours()
        results = _results(bench, ours)
        kept = [each for each in results if not each.shown.rule.startswith("coverage:")]
        (bench.folder / "tests.json").write_text(json.dumps([[each.test.id.cls, each.test.id.name] for each in kept]))
        (bench.folder / "bench_peer.py").write_text(PEER)
        junit = bench.folder / "junit.xml"
        collecting = bench.theirs("--collect-only", "-qq")
        theirs = bench.theirs("-n", "2", "--junitxml", str(junit))
        if not junit.exists():
            sys.exit(f"plain pytest wrote no results:\n{theirs.output[-3000:]}")
        bench.ours("--dry-run", "--format", "json", cached=True)
        kept_plan = bench.ours("--dry-run", "--format", "json", cached=True)
        differing = compared(kept, junit)
        _tell(len(kept), ours, theirs)
        print(f"planning                CPU {planning.cpu:7.1f} s     one worker's collection {collecting.cpu:7.1f} s, "
              f"two {2 * collecting.cpu:7.1f} s")  # fmt: skip
        print(f"planning, plan kept     CPU {kept_plan.cpu:7.1f} s     PyTorch's import is the most of both")
        for line in differing[:20]:
            print(line)
        print(f"{len(differing)} of {len(kept)} tests end differently")
    return int(bool(differing) or theirs.wall / ours.wall < GOAL)


def _bench(folder: Path) -> Bench:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="an upstream test file; one is written when none is given")
    parser.add_argument("--ops", default="", help="only these ops, as add,softmax")
    parser.add_argument("--upstream", default="", help="the PyTorch tree that the file lies in")
    parser.add_argument("--release", default="sim-1.1")
    options = parser.parse_args()
    file = options.file
    if file is None:
        file = folder / "test" / "test_bench.py"
        file.parent.mkdir()
        file.write_text(FILE)
    return Bench(file=file.absolute(), folder=folder, options=options)


def _results(bench: Bench, ours: Spent) -> list[Result]:
    runs = sorted((bench.folder / "home" / "runs").glob("*"))
    if not runs:
        sys.exit(f"conformance run left no run:\n{ours.output[-3000:]}")
    return record.read_results(RunFolder(path=runs[-1]))


def _tell(tests: int, ours: Spent, theirs: Spent) -> None:
    print(f"{tests} tests, two workers       conformance run     pytest -n 2     ratio")
    rows = (
        ("wall clock, s", ours.wall, theirs.wall), ("CPU, s", ours.cpu, theirs.cpu),
        ("memory of all, MB", ours.all / 1e6, theirs.all / 1e6),
        ("largest process, MB", ours.one / 1e6, theirs.one / 1e6),
    )  # fmt: skip
    for what, mine, other in rows:
        print(f"{what:<28}{mine:>15.1f}{other:>16.1f}{other / mine:>10.2f}")


def compared(results: list[Result], junit: Path) -> list[str]:
    """One line a test that ended, or was explained, in another way."""
    found = {}
    for case in ET.parse(junit).getroot().iter("testcase"):
        cls = case.get("classname", "").rpartition(".")[2]
        generic = class_without_device(cls, DEVICE)
        name = case.get("name", "")
        plain = without_device(name, DEVICE, {})[0] if generic != cls else name
        found[generic, plain] = _of_junit(case)
    lines, counts = [], Counter[str]()
    for each in results:
        mine, other = _of_ours(each), found.get((each.test.id.cls, each.test.id.name), ("missing", ""))
        counts[mine[0]] += 1
        if mine[0] != other[0] or (mine[0] == "skipped" and mine[1] != other[1]):
            lines.append(f"{each.test.key}: {mine} and {other}")
    print("outcomes: " + ", ".join(f"{count} {word}" for word, count in counts.most_common()))
    return lines


def _of_junit(case: ET.Element) -> tuple[str, str]:
    skipped = case.find("skipped")
    if skipped is not None:
        return ("xfailed" if skipped.get("type") == "pytest.xfail" else "skipped"), skipped.get("message", "").strip()
    failed = case.find("failure") is not None or case.find("error") is not None
    return ("failed" if failed else "passed"), ""


def _of_ours(result: Result) -> tuple[str, str]:
    word = result.outcome.word
    if word.startswith("skip"):
        return "skipped", result.shown.message.strip()
    if result.outcome is Outcome.XFAIL:
        return ("passed" if "swallowed" in result.shown.rule else "xfailed"), ""
    right = result.outcome in (Outcome.PASS, Outcome.FALLBACK, Outcome.UNPROVEN)
    return ("passed" if right else "failed"), ""


if __name__ == "__main__":
    sys.exit(main())
