"""Files are collected once each; one that dies costs itself alone, and what nothing changed is not collected again."""

from pathlib import Path

import pytest

from conformance import suites
from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.plan import Selection
from conformance.suites import collected
from conformance.suites.collected import files_of
from conformance.suites.plan_cache import PlanCache
from tests.plugin.sessions import RELEASE

PLAIN = """
import near
from torch.testing._internal.common_utils import TestCase
from torch.testing._internal.common_device_type import instantiate_device_type_tests


class TestPlain(TestCase):
    def test_right(self, device):
        pass


instantiate_device_type_tests(TestPlain, globals())
"""
DIES = "import ctypes\nprint('about to read address 0')\nctypes.string_at(0)\n"
LEAVES = "import sys\nsys.exit(0)\n"
RAISES = "raise OSError('no such library')\n"


def test_a_file_is_collected_once_whatever_names_it(tmp_path: Path) -> None:
    for name in ("test_a.py", "b_test.py", "other.py", "sub/test_c.py", ".hidden/test_d.py", "build/test_e.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    below = {path: str(tmp_path / path) for path in ("b_test.py", "sub/test_c.py", "test_a.py", "other.py")}
    found = files_of([f"{below['test_a.py']}::TestA", below["test_a.py"], str(tmp_path), below["other.py"]])
    assert [str(each.path) for each in found] == [
        below["test_a.py"], below["b_test.py"], below["sub/test_c.py"], below["other.py"],
    ]  # fmt: skip
    assert all(each.whole for each in found)


def test_nodes_of_one_file_go_together(tmp_path: Path) -> None:
    path = str(tmp_path / "test_a.py")
    (found,) = files_of([f"{path}::TestA", f"{path}::TestB::test_x", f"{path}::TestA"])
    assert found.arguments == (f"{path}::TestA", f"{path}::TestB::test_x")
    assert not found.whole


@pytest.mark.slow
def test_a_file_that_dies_costs_itself_and_the_rest_is_planned_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "test"
    tree.mkdir()
    for name, text in {
        "test_plain": PLAIN,
        "near": "",
        "test_dies": DIES,
        "test_raises": RAISES,
        "test_leaves": LEAVES,
    }.items():
        (tree / f"{name}.py").write_text(text)
    cache = PlanCache(folder=tmp_path / "plans", made_by="now")
    found = collected.collect([str(tree)], "sim", RELEASE, cache)
    assert [each.key for each in found] == [
        "upstream::test_dies::::<module>", "upstream::test_leaves::::<module>",
        "upstream::test_plain::TestPlain::test_right", "upstream::test_raises::::<module>",
    ]  # fmt: skip
    died, left, plain, raised = (each.decided for each in found)
    assert left is not None
    assert (left.outcome, left.reason) == (
        Outcome.ERROR, "the process that collected it ended with status 3: SystemExit: 0",
    )  # fmt: skip
    assert plain is None
    assert died is not None
    assert (died.outcome, died.rule) == (Outcome.ERROR, "collection")
    assert died.reason == "the process that collected it ended by SIGSEGV: about to read address 0"
    assert raised is not None
    assert raised.reason == "OSError: no such library"
    assert "planning: 4 of 4 files, 4 tests" in capsys.readouterr().out

    started: list[str] = []
    monkeypatch.setattr(collected, "_spawn", lambda arguments, log: started.append(arguments[-1]))
    monkeypatch.setattr(collected.Work, "over", lambda work: pytest.fail("collected again"))
    assert collected.collect([str(tree / "test_plain.py")], "sim", RELEASE, cache) == [found[2]]
    assert not started
    (tree / "near.py").write_text("edited = 1\n")
    assert cache.load(tree / "test_plain.py") is None
    assert cache.load(tree / "test_dies.py") is None


@pytest.mark.slow
def test_a_file_that_takes_too_long_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "test_sleeps.py"
    file.write_text("")
    monkeypatch.setattr(collected, "PATIENCE", 0.3)
    (found,) = collected.collect([str(file)], "sim", RELEASE, None)
    assert found.decided is not None
    assert found.decided.reason.startswith("the process that collected it was not done after 0.3 s")


def test_an_unknown_target_is_said_before_anything_is_collected() -> None:
    selection = Selection(suites=("upstream",), tests=(__file__,))
    with pytest.raises(UsageError, match="unknown target 'gaudi'"):
        list(suites.get("upstream").collect(selection, "gaudi", RELEASE))
