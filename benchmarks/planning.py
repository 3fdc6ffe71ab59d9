"""Planning the full suite `ops` beside pytest's collection of as many OpInfo tests: seconds and peak memory.

Ours is a whole `conformance run --dry-run --profile full`, the import of PyTorch and of the OpInfo database included.
The peer is `pytest --collect-only` over a file with as many `@ops(op_db)` tests as there are kinds, on the CPU device.
Peak memory is the largest of all processes of a command. Bars: 10 s, 1 GB.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS_BAR, BYTES_BAR = 10.0, 1e9
KINDS = 9

PEER = """
from torch.testing._internal.common_device_type import OpDTypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase


class TestKinds(TestCase):
    pass


def make(kind):
    @ops(op_db, dtypes=OpDTypes.supported)
    def test(self, device, dtype, op):
        pass

    test.__name__ = f"test_{kind}"
    return test


for kind in range(%d):
    setattr(TestKinds, f"test_{kind}", make(f"kind{kind}"))

instantiate_device_type_tests(TestKinds, globals(), only_for="cpu")
"""


def main() -> int:
    """Measure and print; 1 when a bar is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=2)
    rounds = options.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        ours = min(plan(Path(folder)) for _ in range(rounds))
        peer = min(collect(Path(folder)) for _ in range(rounds))
    ratio = (peer[0] / peer[2]) / (ours[0] / ours[2])
    print(
        f"conformance run --dry-run --profile full: {show(*ours)} (bars {SECONDS_BAR:.0f} s, {BYTES_BAR / 1e9:.0f} GB)"
    )
    print(f"pytest --collect-only:                    {show(*peer)}")
    print(f"a planned test costs {ratio:.1f} times as much in pytest; memory {peer[1] / ours[1]:.1f} times")
    return int(ours[0] > SECONDS_BAR or ours[1] > BYTES_BAR)


def show(seconds: float, peak: float, tests: int) -> str:
    """`44251 tests in 6.0 s, 0.40 GB`."""
    return f"{tests} tests in {seconds:.1f} s, {peak / 1e9:.2f} GB"


def plan(folder: Path) -> tuple[float, float, int]:
    """Seconds, peak bytes and planned tests of ours."""
    command = [sys.executable, "-c", "from conformance.cli import main; main()", "run", "--target", "sim"]
    arguments = ["--profile", "full", "--dry-run", "--format", "json"]
    seconds, peak, out = measured([*command, *arguments], {"CONFORMANCE_HOME": str(folder / "home")})
    return seconds, peak, int(json.loads(out)["planned"])


def collect(folder: Path) -> tuple[float, float, int]:
    """Seconds, peak bytes and collected tests of the peer."""
    (folder / "test_peer.py").write_text(PEER % KINDS)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    seconds, peak, out = measured([*command, "--rootdir", str(folder), str(folder / "test_peer.py")], {})
    return seconds, peak, sum("::" in line for line in out.splitlines())


def measured(command: list[str], environment: dict[str, str]) -> tuple[float, float, str]:
    """Run a command in a process whose only children are the command's, so that its peak memory is theirs."""
    reading, writing = os.pipe()
    started = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        with os.fdopen(writing, "w") as file:
            json.dump([peak, done.stdout, done.stderr[-2000:], done.returncode], file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        peak, out, error, status = json.load(file)
    os.waitpid(pid, 0)
    assert status == 0, error
    return time.perf_counter() - started, peak, out


if __name__ == "__main__":
    sys.exit(main())
