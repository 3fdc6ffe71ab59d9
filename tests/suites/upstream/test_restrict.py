"""A shard makes its own tests, exactly as the whole file does, and hardly any other."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.outcomes import TestId
from conformance.pytest_hooks.restrict import Wanted
from tests.plugin.sessions import FILES, environment


def planned(cls: str, name: str, op: str = "", dtype: str = "") -> TestId:
    return TestId(suite="upstream", file="a", cls=cls, name=name, op=op, dtype=dtype)


def test_functions_are_wanted_by_the_beginning_of_a_name_and_ops_by_their_own() -> None:
    wanted = Wanted.of(
        [planned("TestA", "test_out_add_float32", "add", "float32"), planned("TestA", "test_plain")], "neuron"
    )
    generic = type("TestA", (), {})
    assert [each for each in ("test_out", "test_out_add", "test_ou", "test_plain", "test_other") if
            wanted.function(generic, each)] == ["test_out", "test_out_add", "test_plain"]  # fmt: skip
    assert not wanted.function(type("TestB", (), {}), "test_out")
    add, sub = SimpleNamespace(full_name="add"), SimpleNamespace(full_name="sub")
    assert wanted.op(generic, add)
    assert not wanted.op(generic, sub)
    assert wanted.pair(generic, add, {"dtype": "torch.float32"})
    assert not wanted.pair(generic, add, {"dtype": "torch.int8"})


def test_a_class_within_a_class_and_one_called_as_the_device_are_found() -> None:
    wanted = Wanted.of([planned("Outer.TestA", "test_x"), planned("TestNEURON", "test_y")], "neuron")
    assert wanted.function(type("TestA", (), {}), "test_x")
    assert wanted.function(type("TestNEURON", (), {}), "test_y")


@pytest.mark.slow
def test_what_is_left_out_changes_nothing_about_the_rest(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    subprocess.run(
        [sys.executable, "-m", "tests.suites.upstream.restricted_child", str(FILES / "made.py"), str(out)], check=True,
        cwd=FILES.parents[1], env=environment(tmp_path), stdout=subprocess.DEVNULL,
    )  # fmt: skip
    whole, answers, after = json.loads(out.read_text())
    sample, one, everything = answers
    assert whole > 250
    for chosen, made, same, inside in answers:
        assert same
        assert inside
        assert made >= chosen
    assert sample[1] < whole / 2
    assert one[1] < one[0] + 30
    assert everything[0] == everything[1] == whole
    assert after, "what was left out stays left out"
