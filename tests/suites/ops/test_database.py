"""The whole database on a device that can do everything, in a process of its own: nothing but passes and skips."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_EVERYTHING_NATIVE = """
[[release]]
name = "free"
summary = "Every op runs on the device."

[compiler]
most_nodes = 4000
most_bytes = 17179869184
seconds_base = 0.0
seconds_node = 0.0
seconds_warm = 0.0
"""

_CHILD = """
import json, sys
import torch
from conformance import targets
from conformance.plan import Selection
from conformance.suites import get
from conformance.suites.ops import runner
from conformance.suites.ops.quiet import quiet

torch.set_num_threads(1)
kinds, dtypes = (each.split(",") for each in sys.argv[1:])
device = targets.get("sim").activate("free")
with quiet():
    for test in get("ops").collect(Selection(suites=("ops",), profile="full"), "sim", "free"):
        if test.decided is None and test.id.kind in kinds and test.id.dtype in dtypes:
            made = runner.attempt(runner.prepare(test.id, device), test.id.kind)
            print(json.dumps([test.key, made.outcome.word, made.rule, made.ran_on, made.message]))
"""


def run(folder: Path, kinds: str, dtypes: str) -> list[tuple[str, str, str, str, str]]:
    table = folder / "free.toml"
    table.write_text(_EVERYTHING_NATIVE)
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, kinds, dtypes], capture_output=True, text=True, check=True,
        env={**os.environ, "CONFORMANCE_SIM_TABLE": str(table), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )  # fmt: skip
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(("kinds", "dtypes"), [("forward,backward", "float32"), ("out,inplace,noncontiguous", "bool")])
def test_a_device_that_can_do_everything_passes_everything(tmp_path, kinds, dtypes):
    outcomes = run(tmp_path, kinds, dtypes)
    places = [place for _, outcome, _, place, _ in outcomes if outcome == "pass"]
    others = {(key, outcome, rule): message for key, outcome, rule, _, message in outcomes if outcome != "pass"}
    unexplained = {
        told: message
        for told, message in others.items()
        if told[2] != "ops:no-samples" and "sparse" not in message.lower() and not explained(told[0])
    }
    assert unexplained == {}
    assert len(places) > 0.98 * len(outcomes) > 500
    assert places.count("device") > 0.85 * len(places)  # the rest are views, metadata and allocations
    assert places.count("device") + places.count("none") == len(places)


def explained(key: str) -> bool:
    """PyTorch's own kernels name the device types that they accept; a real backend brings its own."""
    return key.startswith("ops::out::mode::")
