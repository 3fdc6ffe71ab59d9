"""What the plugin adds to the same pytest: `--conformance-target cpu` beside plain `pytest --junitxml`.

Both run the same upstream-style file of some hundreds of tests on the CPU, in turn; printed are the least seconds of
all rounds and their ratio. The plugin's two shortcuts in PyTorch's harness save more than it costs; with
--conformance-plain they are off, and what is left is the plugin and the target.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

FILE = """
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase

CHOSEN = [each for each in op_db if each.full_name in {names}]


class TestOverhead(TestCase):
    @ops(CHOSEN, allowed_dtypes={dtypes})
    def test_samples(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            got = op(sample.input, *sample.args, **sample.kwargs)
            self.assertEqual(got.device.type, "cpu")


instantiate_device_type_tests(TestOverhead, globals())
"""
NAMES = (  # ops of one or two arguments
    "abs add amax amin argmax argmin atan ceil clamp cosh cumsum div eq erf exp floor ge gt isnan le log lt max"
    " mean min mul ne neg reciprocal relu round rsqrt sigmoid sign sin sinh sqrt square sub sum tan tanh trunc flip"
)

DTYPES = "(torch.float32, torch.float64, torch.bfloat16, torch.int32, torch.int64, torch.bool)"


@dataclass(frozen=True, kw_only=True)
class Spent:
    """CPU seconds of one pytest: the whole process, and the tests as pytest counts them on the wall clock."""

    process: float
    tests: float
    count: int


def pytest_once(folder: Path, arguments: list[str]) -> Spent:
    """Run the file once; ends the benchmark when a test did not pass."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, *arguments]
    variables = {**os.environ, "PYTORCH_TESTING_DEVICE_ONLY_FOR": "cpu", "CONFORMANCE_HOME": str(folder)}
    done = subprocess.run(
        [*command, "--rootdir", str(folder), str(folder / "test_overhead.py")],
        env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = re.search(r"(\d+) passed.* in ([\d.]+)s", done.stdout)
    if done.returncode or found is None:
        sys.exit(f"pytest {' '.join(arguments)} failed:\n{done.stdout[-3000:]}{done.stderr[-2000:]}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(process=spent, tests=float(found[2]), count=int(found[1]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_overhead.py").write_text(FILE.format(names=set(NAMES.split()), dtypes=DTYPES))
        spent: dict[str, list[Spent]] = {}
        for turn in range(rounds):
            for way, arguments in ways(folder, turn).items():
                spent.setdefault(way, []).append(pytest_once(folder, arguments))
    report(spent)


def ways(folder: Path, turn: int) -> dict[str, list[str]]:
    """The peer first, then the plugin as it comes and without its shortcuts."""
    plugin = ["--conformance-target", "cpu", "--conformance-run"]
    return {
        "pytest --junitxml": ["--junitxml", str(folder / f"{turn}.xml")],
        "with the plugin": [*plugin, str(folder / f"run-{turn}")],
        "with the plugin, --conformance-plain": [*plugin, str(folder / f"plain-{turn}"), "--conformance-plain"],
    }


def report(spent: dict[str, list[Spent]]) -> None:
    """Print the least of all rounds and the ratio to the first way."""
    peer = next(iter(spent.values()))
    process, tests = min(each.process for each in peer), min(each.tests for each in peer)
    print(f"{peer[0].count} tests, {len(peer)} rounds; least CPU seconds of the process, least seconds of the session")
    for way, all_rounds in spent.items():
        least, session = min(each.process for each in all_rounds), min(each.tests for each in all_rounds)
        print(f"{way:38} {least:7.2f} s  x{least / process:.3f}   {session:7.2f} s  x{session / tests:.3f}")


if __name__ == "__main__":
    main()
