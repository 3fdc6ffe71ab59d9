"""The entry that skips a test or foresees its failure is named, with the line on which PyTorch wrote it."""

import re
import unittest
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import _internal
from torch.testing._internal.common_device_type import OpDTypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_utils import TestCase, slowTest
from torch.testing._internal.opinfo.core import DecorateInfo, OpInfo

from conformance.outcomes import Source
from conformance.provenance import entries, guards
from conformance.provenance.rules import Origin, Skip

PACKAGE = Path(next(iter(_internal.__path__))).parents[2]


class TestMine:
    device_type = "neuron"


def made_for(name: str, **given: Any) -> Any:
    """A test function as PyTorch's instantiation leaves one."""

    def test(self: object, given: dict[str, Any] = given) -> None:
        pass

    test.__name__ = name
    return test


def named(name: str, variant: str = "") -> OpInfo:
    return next(each for each in op_db if each.name == name and each.variant_test_name == variant)


def own(*decorators: Any) -> OpInfo:
    return OpInfo("add", decorators=decorators, dtypes=(torch.float32,))


def line_at(where: str) -> str:
    file, _, line = where.rpartition(":")
    return lines_of(file)[int(line) - 1]


@cache
def lines_of(file: str) -> list[str]:
    return (PACKAGE / file).read_text().splitlines()


def shipped() -> list[tuple[OpInfo, DecorateInfo, str]]:
    """Every skip and expected failure of op_db that is for one named test and any device."""
    found = []
    for op in op_db:
        for each in op.decorators:
            if isinstance(each, DecorateInfo) and each.cls_name and each.test_name and each.device_type is None:
                for kind, reasons in ((entries.SKIP, ("Skipped!",)), (entries.EXPECTED_FAILURE, ("",))):
                    if each.active_if is True and any(entries._does(one, kind, reasons[0]) for one in each.decorators):
                        found.append((op, each, kind))
    return found


def test_the_place_of_nearly_every_decorator_is_its_own_line_in_pytorch_s_sources() -> None:
    rows = shipped()
    wheres = [entries._place(op, each) for op, each, _ in rows]
    exact = [where for where in wheres if where and "DecorateInfo(" in line_at(where)]
    assert len(rows) > 500
    assert len(exact) > 0.9 * len(rows)
    assert all(where.startswith("torch/testing/_internal/") for where in wheres if where)


def test_an_entry_says_for_which_tests_it_decides() -> None:
    decorator = DecorateInfo(unittest.skip("no"), "TestMine", "test_out", dtypes=(torch.float32, torch.int8))
    found = entries.entry_of(TestMine, made_for("test_out", op=own(decorator), dtype=torch.int8), entries.SKIP, "no")
    assert found is not None
    assert found.text == "OpInfo add: skip for class=TestMine, test=test_out, dtypes=float32 int8"
    assert re.match(r"torch/testing/_internal/common_methods_invocations.py:\d+$", found.where)


@pytest.mark.parametrize(
    "decorator",
    [
        DecorateInfo(unittest.skip("no"), "TestMine", "test_out", dtypes=(torch.float64,)),
        DecorateInfo(unittest.skip("no"), "TestMine", "test_out", device_type="cuda"),
        DecorateInfo(unittest.skip("no"), "TestOther", "test_out"),
        DecorateInfo(unittest.skip("no"), "TestMine", "test_out", active_if=False),
        DecorateInfo(unittest.skip("another reason"), "TestMine", "test_out"),
        DecorateInfo(unittest.expectedFailure, "TestMine", "test_out"),
    ],
    ids=["dtype", "device", "class", "inactive", "reason", "kind"],
)
def test_an_entry_that_is_not_for_the_test_did_not_decide_it(decorator: DecorateInfo) -> None:
    test = made_for("test_out", op=own(decorator), dtype=torch.float32)
    assert entries.entry_of(TestMine, test, entries.SKIP, "no") is None
    assert guards.decorated(TestMine, test, "no").origin is Origin.DECORATOR


def test_a_module_s_entry_is_told_from_a_decorator_of_the_file() -> None:
    module = next(each for each in module_db if each.name == "nn.GroupNorm")
    module.decorators = (*module.decorators, DecorateInfo(unittest.skip("not this"), "TestMine", "test_memory_format"))
    try:
        skip = guards.decorated(TestMine, made_for("test_memory_format", module_info=module), "not this")
    finally:
        module.decorators = module.decorators[:-1]
    assert skip.origin is Origin.OPINFO
    assert skip.entry == "ModuleInfo nn.GroupNorm: skip for class=TestMine, test=test_memory_format"
    assert "common_modules.py:" in skip.where


def test_an_expected_failure_names_its_entry_or_the_test_s_own_line() -> None:
    test = made_for("test_out", op=own(DecorateInfo(unittest.expectedFailure, "TestMine", "test_out")))
    foreseen = guards.foreseen_failure(TestMine, unittest.expectedFailure(test), "neuron")
    assert foreseen is not None
    assert foreseen.rule == "upstream:opinfo-expected-failure"
    assert foreseen.source is not None
    assert foreseen.source.code == "OpInfo add: expectedFailure for class=TestMine, test=test_out"
    plain = guards.foreseen_failure(TestMine, unittest.expectedFailure(made_for("test_out")), "neuron")
    assert plain is not None
    line = made_for("test_out").__code__.co_firstlineno
    assert plain.source == Source(
        who="decorator", code="expectedFailure", where=f"tests/provenance/test_entries.py:{line}"
    )
    assert guards.foreseen_failure(TestMine, made_for("test_out"), "neuron") is None


def test_a_guard_that_raised_is_placed_where_it_was_put_on_the_test() -> None:
    test = made_for("test_out")
    name = "onlyOn.__call__.<locals>.only_fn"
    raised = Skip(origin=Origin.GATE, reason="x", function=name, where="torch/testing/_internal/y.py:1")
    assert guards.applied(raised, test).where.startswith("tests/provenance/test_entries.py:")
    other = Skip(origin=Origin.GATE, reason="x", function="first_sample", where="torch/testing/_internal/y.py:1")
    assert guards.applied(other, test) is other


def test_a_guard_that_an_entry_put_on_the_test_is_told_from_one_in_the_file() -> None:
    class TestGuards(TestCase):
        @ops([own(slowTest)], dtypes=OpDTypes.none)
        def test_slow_op(self, device: str, op: OpInfo) -> None:
            pass

        @slowTest
        @ops([own()], dtypes=OpDTypes.none)
        def test_slow_test(self, device: str, op: OpInfo) -> None:
            pass

    scope: dict[str, Any] = {"TestGuards": TestGuards}
    instantiate_device_type_tests(TestGuards, scope, only_for="cpu")
    made = scope["TestGuardsCPU"]
    by_entry = guards.foreseen(made, made.test_slow_op_add_cpu, "cpu")
    by_file = guards.foreseen(made, made.test_slow_test_add_cpu, "cpu")
    assert by_entry is not None
    assert by_file is not None
    assert (by_entry.origin, by_entry.function) == (by_file.origin, by_file.function)
    assert by_entry.entry == "OpInfo add: slowTest"
    assert by_entry.where.startswith("torch/testing/_internal/common_methods_invocations.py:")
    assert (by_file.entry, by_file.where.rpartition(":")[0]) == ("", "tests/provenance/test_entries.py")


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("/a/lib/python3/site-packages/torch/testing/_internal/a.py", "torch/testing/_internal/a.py"),
        ("/src/pytorch/torch/testing/_internal/a.py", "torch/testing/_internal/a.py"),
        ("C:\\x\\site-packages\\pkg\\a.py", "pkg/a.py"),
        ("/home/me/pytorch/test/nn/test_x.py", "test/nn/test_x.py"),
        ("/home/me/test/pytorch/test/test_x.py", "test/test_x.py"),
        ("/home/me/x.py", "x.py"),
        ("<string>", "<string>"),
    ],
)  # fmt: skip
def test_a_place_never_names_the_machine(file: str, said: str) -> None:
    assert entries.placed(file, 7) == f"{said}:7"
