"""A run over a PyTorch source tree: its files, imports, classes and conftest, the record of it, and resuming."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import record
from conformance.outcomes import Outcome
from conformance.record import RunFolder
from conformance.upstream import installed
from tests.plugin.sessions import RELEASE, command_line, environment
from tests.upstream.trees import folder

_HEAD = """
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase
from shared_by_tests import ONE
from tools.numbers import TWO
"""
_OPS = f"""{_HEAD}
class TestCommon(TestCase):
    def test_add(self, device):
        self.assertEqual(torch.ones(2, device=device) + ONE, torch.full((2,), TWO, device=device))

class TestPlain(TestCase):
    def test_of_the_cpu(self):
        pass

instantiate_device_type_tests(TestCommon, globals())
"""
_TRANSFORMS = f"""{_HEAD}
import beside

class TestOperators(TestCase):
    def test_neg(self, device):
        self.assertEqual(-torch.ones(2, device=device), torch.full((2,), -1.0, device=device))

class TestOfCuda(TestCase):
    def test_never(self, device):
        pass

instantiate_device_type_tests(TestOperators, globals(), only_for=("cpu", "cuda"))
instantiate_device_type_tests(TestOfCuda, globals(), only_for="cuda")
"""
_NEEDS = """
raise ModuleNotFoundError("No module named 'hypothesis'", name="hypothesis")
class TestNN(TestCase):
    pass
instantiate_device_type_tests(TestNN, globals())
"""
_FILES = {
    "version.txt": f"{installed().number}a0",
    "pytest.ini": "[pytest]\nxfail_strict = True\njunit_logging_reruns = all\n",
    "tools/__init__.py": "",
    "tools/numbers.py": "TWO = 2.0\n",
    "torch/__init__.py": "raise ImportError('the source tree, not the installed torch')\n",
    "test/conftest.py": "raise RuntimeError('written for another pytest')\n",
    "test/shared_by_tests.py": "ONE = 1.0\n",
    "test/test_ops.py": _OPS,
    "test/test_nn.py": _NEEDS,
    "test/functorch/beside.py": "",
    "test/functorch/test_ops.py": _TRANSFORMS,
    "test/test_of_tomorrow.py": "",
}


def conformance(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """`conformance …` in a process and a home of its own."""
    program = str(Path(sys.executable).with_name("conformance"))
    return subprocess.run(
        [program, *arguments],
        capture_output=True, text=True, env=environment(home), check=False, timeout=300,
    )  # fmt: skip


@pytest.mark.slow
def test_the_files_of_the_profile_are_run_recorded_repeated_alone_and_resumed_only_as_they_were(tmp_path: Path) -> None:
    root = folder(tmp_path / "tree", _FILES)
    chosen = ("--target", "sim", "--release", RELEASE, "--upstream", str(root))
    done = conformance(tmp_path, "run", "--no-ingest", "-n", "1", *chosen)
    assert done.returncode == 0, done.stderr
    assert "PyTorch's 4 test files: 3 run, 0 left out with a reason, 1 unlisted;" in done.stderr
    run = RunFolder(path=next((tmp_path / "runs").iterdir()))
    header, results = run.read_header(), record.read_results(run)
    assert {each.test.key: each.outcome for each in results} == {
        "upstream::test_ops::TestCommon::test_add": Outcome.PASS,
        "upstream::functorch/test_ops::TestOperators::test_neg": Outcome.PASS,
        "upstream::test_nn::::<module>": Outcome.SKIP_ENVIRONMENT,
    }
    assert header.selection.whole
    assert header.selection.files == (
        "test_ops.py::TestCommon", "functorch/test_ops.py::TestOperators", "test_nn.py::TestNN",
    )  # fmt: skip
    assert header.environment["upstream.version"] == installed().number
    assert header.environment["upstream.mismatch"] == ""
    assert header.environment["upstream.files"].startswith("4 test files: 3 run")
    assert str(root) not in str(header.selection)

    # A file named by itself is made for the same devices: the class for CUDA alone is not there either.
    named = conformance(tmp_path, "run", "--dry-run", "--format", "json", *chosen, "--tests", "functorch/test_ops.py")
    assert json.loads(named.stdout)["planned"] == 1, named.stderr

    alone = conformance(tmp_path, "repro", "test_neg", "--run", str(run.path))
    assert alone.returncode == 0, alone.stderr
    assert f"TestOperators::test_neg --target sim --release {RELEASE} --upstream {root}" in alone.stderr
    assert "the test ended as pass" in alone.stderr
    (root / "test" / "shared_by_tests.py").write_text("ONE = 1\n")
    changed = conformance(tmp_path, "run", "--no-ingest", "--resume", header.run)
    assert changed.returncode == 2
    assert "cannot be resumed: its upstream tree was" in changed.stderr


@pytest.mark.slow
def test_a_plain_session_records_the_tree_that_its_file_is_of(tmp_path: Path) -> None:
    root = folder(tmp_path / "tree", _FILES)
    asked = ("-p", "conformance.pytest_hooks.tree_files", "--noconftest", "--conformance-run", str(tmp_path / "run"))
    done = subprocess.run(
        [*command_line(*asked), "-n", "2", str(root / "test" / "test_ops.py")],
        capture_output=True, text=True, check=False, timeout=300,
        env={**environment(tmp_path), "CONFORMANCE_UPSTREAM": str(root)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    told = RunFolder(path=tmp_path / "run").read_header().environment
    assert (told["upstream.path"], told["upstream.version"], told["upstream.mismatch"]) == (
        str(root), installed().number, "",
    )  # fmt: skip
