"""The plan: every op, dtype and kind, each skip with its rule, nothing executed, the same in every process."""

import json
import re
import subprocess
import sys
from itertools import pairwise

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.plan import Selection
from conformance.suites import get
from conformance.suites.ops import catalogue, definitions, planning
from conformance.suites.ops.allowances import data, tolerances
from conformance.suites.ops.kinds import KINDS


def collect(target="cpu", release="installed", **selection):
    return list(get("ops").collect(Selection(suites=("ops",), **selection), target, release))


@pytest.fixture(scope="module")
def full():
    return collect(profile="full")


def test_every_op_dtype_and_kind_is_planned_once(full):
    ops = catalogue.by_name().values()
    pairs = sum(len(op.supported_dtypes("cpu")) for op in ops)
    per_dtype = sum(kind.per_dtype for kind in KINDS.values())
    assert len(full) == per_dtype * pairs + (len(KINDS) - per_dtype) * len(ops)
    assert len({each.key for each in full}) == len(full)
    assert {each.id.op for each in full} == {op.name for op in ops}


def test_only_children_with_compiled_tests_wait_for_the_first_compilation():
    add = collect(ops=("add",))
    assert get("ops").warm(add) == ("conformance.suites.ops.warm",)
    assert get("ops").warm([each for each in add if each.id.kind != "compiled"]) == ()
    assert "conformance.suites.ops.warm" not in get("ops").preload


def test_identities_carry_their_parsed_parts_and_no_device(full):
    by_key = {each.key: each.id for each in full}
    found = by_key["ops::backward::div.floor_rounding::float32"]
    assert (found.op, found.variant, found.dtype, found.kind) == ("div", "floor_rounding", "float32", "backward")
    whole = by_key["ops::dtypes::add::all"]
    assert (whole.op, whole.dtype, whole.kind) == ("add", "", "dtypes")


def test_what_does_not_apply_is_planned_as_a_skip_with_its_rule(full):
    decided = {each.key: each.decided for each in full if each.decided}
    for key, rule in {
        "ops::out::dot::float32": None,
        "ops::out::view::float32": "ops:no-out",
        "ops::inplace::bmm::float32": "ops:no-inplace",
        "ops::backward::argmax::float32": "ops:no-autograd",
        "ops::backward::add::int64": "ops:no-autograd-dtype",
        "ops::error_inputs::argmin::all": "ops:no-error-inputs",
        "ops::forward::jiterator_unary::float32": "ops:only-cuda",
        "ops::forward::sparse.mm.reduce::float32": "ops:only-cpu",
        "ops::inplace::addr::float32": "ops:addr-inplace",
    }.items():
        assert (decided[key].rule if key in decided else None) == rule, key
    assert {each.outcome for each in decided.values()} == {Outcome.SKIP_ELIGIBILITY}
    assert all(each.reason for each in decided.values())


def test_marks_of_pytorch_are_honoured_where_its_test_asks_the_same(full):
    expected = {each.key: each.expected.rule for each in full if each.expected}
    assert expected["ops::error_inputs::clamp_min::all"] == "ops:upstream-expected-failure"
    assert all(key.startswith("ops::error_inputs::") for key in expected)


def test_what_the_coverage_file_leaves_out_is_planned_as_a_skip():
    (test,) = collect("sim", "sim-1.1", profile="full", keys=("ops::forward::add::complex32",))
    assert test.decided.outcome is Outcome.SKIP_COVERAGE
    assert test.decided.rule.startswith("coverage:")
    assert test.decided.reason


def test_rules_of_pytorch_come_before_the_coverage_file():
    tests = collect("sim", "sim-1.1", profile="full", ops=("jiterator_unary",))
    assert {each.decided.rule for each in tests if each.id.kind == "forward"} == {"ops:only-cuda"}


def test_the_default_profile_is_a_part_of_the_full_one(full):
    default = collect()
    assert {each.key for each in default} < {each.key for each in full}
    assert {each.id.dtype for each in default} == {*planning.DEFAULT_DTYPES, ""}


def test_ops_are_chosen_by_name_with_all_variants_or_by_full_name():
    assert {each.id.cls for each in collect(ops=("div",))} == {
        "div.no_rounding_mode",
        "div.floor_rounding",
        "div.trunc_rounding",
    }
    assert {each.id.cls for each in collect(ops=("div.floor_rounding", "add"))} == {"div.floor_rounding", "add"}


def test_an_unknown_op_is_refused_with_the_closest_names():
    with pytest.raises(UsageError, match=r"unknown op 'sofmax': did you mean .*softmax"):
        collect(ops=("add", "sofmax"))
    with pytest.raises(UsageError, match="op_db"):
        collect(ops=("0" * 500,))


def test_keys_choose_exactly():
    assert [each.key for each in collect(keys=("ops::out::add::bool",))] == ["ops::out::add::bool"]


def test_every_name_in_special_toml_exists():
    known = catalogue.by_name()
    told = [name for each in (*data().special, *data().wider, *data().ineligible) for name in each.ops]
    told += [name for each in data().placement for name in (*each.factory, *each.host)]
    assert [name for name in told if name not in known] == []
    assert all(each.kinds <= KINDS.keys() for each in data().ineligible)
    assert all(hasattr(torch, name) for each in data().wider for name in each.dtypes)
    assert all(each.kinds <= KINDS.keys() for each in data().wider)


def test_a_tolerance_for_one_kind_is_not_given_to_another():
    op = catalogue.by_name()["nn.functional.interpolate.bilinear"]
    assert torch.uint8 not in tolerances(op, "forward")
    assert tolerances(op, "compiled")[torch.uint8].absolute == 1.0


def test_planning_executes_no_op():
    class Forbid(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise AssertionError(f"planning executed {func}")

    with Forbid():
        assert collect(profile="full", ops=("add", "linalg.svd", "empty"))


def test_the_plan_is_in_one_order():
    keys = [each.key for each in collect(ops=("add",), profile="full") if each.id.kind == "forward"]
    assert all(one < other for one, other in pairwise(keys))


def test_definitions_hold_no_address_path_or_line_number():
    site_packages = torch.__file__.rpartition("/torch/")[0]
    for op in catalogue.by_name().values():
        for function in (op.op, op.inplace_variant, op.sample_inputs_func, op.error_inputs_func):
            text = definitions._describe(function)
            assert site_packages not in text
            assert not re.search(r"\bat 0x[0-9a-f]{6,}", text), text[:300]


def test_definitions_differ_between_kinds_ops_and_dtypes(full):
    some = [each for each in full if each.id.op in ("add", "sub", "softmax", "linalg.svd")]
    assert len({each.definition for each in some}) == len(some)


def test_a_changed_sample_generator_changes_the_definition(monkeypatch):
    op = catalogue.by_name()["add"]
    before = definitions.of_op(op)
    monkeypatch.setattr(definitions, "_OPS", {})
    monkeypatch.setattr(op, "sample_inputs_func", catalogue.by_name()["sum"].sample_inputs_func)
    assert definitions.of_op(op) != before


_CHILD = """
import json, resource, sys, time
start = time.process_time()
from conformance.plan import Selection, digest
from conformance.suites import get
tests = list(get("ops").collect(Selection(suites=("ops",), profile="full"), "cpu", "installed"))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([digest(tests), len(tests), time.process_time() - start, peak]))
"""


@pytest.mark.slow
def test_the_plan_is_the_same_in_every_process_and_folder_and_made_quickly(tmp_path, full):
    from conformance.plan import digest

    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", _CHILD], cwd=tmp_path, env={"PYTHONHASHSEED": seed, "HOME": str(tmp_path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        made, count, seconds, peak = json.loads(done.stdout)
        assert (made, count) == (digest(full), len(full))
        assert seconds < 10
        assert peak < 1e9
