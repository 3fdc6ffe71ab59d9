"""PyTorch's harness, imported before the device and told of it, is what it would have become after the device."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.sessions import FILES, environment

ORDERED_BY_A_SET = {"torch.testing._internal.common_dtype._all_mps_types"}
"""Tuples that PyTorch makes from a set: their order differs between any two processes."""


@pytest.mark.slow
def test_every_global_and_every_opinfo_is_the_same_early_and_late(tmp_path: Path) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.suites.upstream.late_harness", how, str(tmp_path / how)],
            cwd=FILES.parents[1], env={**environment(tmp_path), "PYTHONHASHSEED": "0"},
        )
        for how in ("early", "late")
    ]  # fmt: skip
    assert [each.wait() for each in running] == [0, 0]
    early, late = (json.loads((tmp_path / how).read_text())[1] for how in ("early", "late"))
    assert early.keys() == late.keys()
    assert len(early) > 2_000
    assert not [each for each in early if early[each] != late[each] and each not in ORDERED_BY_A_SET]
    assert early["torch.testing._internal.common_utils.TEST_PRIVATEUSE1"] == "True"
