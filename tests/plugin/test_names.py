"""Listed names of upstream tests are taken apart without loss, and an op is told only where the name tells it."""

import gzip
import re
from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.pytest_hooks.identity import parse
from conformance.pytest_hooks.names import Listed

LISTED = gzip.decompress(Path(__file__).with_name("listed_names.txt.gz").read_bytes()).decode().splitlines()
OPS = {
    "index_add": ("index_add", ""),
    "add": ("add", ""),
    "_refs_add": ("_refs.add", ""),
    "div_no_rounding_mode": ("div", "no_rounding_mode"),
    "bfloat16": ("bfloat16", ""),
    "zeros_like": ("zeros_like", ""),
    "nn_functional_layer_norm": ("nn.functional.layer_norm", ""),
    "norm": ("norm", ""),
}


def test_two_thousand_listed_names_are_restored_and_stay_two_thousand() -> None:
    parsed = [parse(each, ops=OPS) for each in LISTED]
    assert [str(each) for each in parsed] == LISTED
    assert len(set(parsed)) == len(LISTED) == 2_000
    assert {each.device for each in parsed} == {"npu", "privateuse1", "cpu", ""}


def test_two_listed_names_meet_only_where_one_test_is_spelled_for_two_devices() -> None:
    met: dict[tuple[str, str, str], list[Listed]] = {}
    for each in map(parse, LISTED):
        met.setdefault((each.module, each.cls, each.name), []).append(each)
    twice = [found for found in met.values() if len(found) > 1]
    assert len(twice) == 8
    assert all(len({each.device for each in found}) == len(found) for found in twice)


def test_no_device_is_left_in_a_name_that_was_made_for_one() -> None:
    made = [each for each in map(parse, LISTED) if each.suffix]
    assert len(made) > 1_500
    assert not [each for each in made if re.search(rf"_{each.device}(_|$)", each.name) and each.device == "npu"]
    assert not [each for each in made if each.cls.endswith("PRIVATEUSE1")]


@pytest.mark.parametrize(
    ("text", "cls", "name", "device", "dtype", "op"),
    [
        ("test_out_add_npu_float32 (__main__.TestCommonPRIVATEUSE1)", "TestCommon", "test_out_add_float32", "npu",
         "float32", ("add", "", "test_out")),
        ("test_ops.py::TestCommonCUDA::test_out__refs_add_cuda_float32", "TestCommon", "test_out__refs_add_float32",
         "cuda", "float32", ("_refs.add", "", "test_out")),
        ("test_batch_vs_slicing_bfloat16_npu_complex32 (__main__.TestUnaryUfuncsPRIVATEUSE1)", "TestUnaryUfuncs",
         "test_batch_vs_slicing_bfloat16_complex32", "npu", "complex32", ("bfloat16", "", "test_batch_vs_slicing")),
        ("test_non_contig_div_no_rounding_mode_npu_int8 (__main__.TestBinaryUfuncsPRIVATEUSE1)", "TestBinaryUfuncs",
         "test_non_contig_div_no_rounding_mode_int8", "npu", "int8", ("div", "no_rounding_mode", "test_non_contig")),
        ("test_fn_grad_nn_functional_layer_norm_xpu_float64 (__main__.TestBwdGradientsXPU)", "TestBwdGradients",
         "test_fn_grad_nn_functional_layer_norm_float64", "xpu", "float64",
         ("nn.functional.layer_norm", "", "test_fn_grad")),
        ("test_like_fns_zeros_like_SparseCSR_npu_bool (__main__.TestSparseAnyPRIVATEUSE1)", "TestSparseAny",
         "test_like_fns_zeros_like_SparseCSR_bool", "npu", "bool", ("zeros_like", "", "test_like_fns")),
        # Tests of their own: that an op is called so says nothing.
        ("test_index_add_npu_float32 (__main__.TestTorchDeviceTypePRIVATEUSE1)", "TestTorchDeviceType",
         "test_index_add_float32", "npu", "float32", ("", "", "")),
        ("test_batch_norm_npu (__main__.TestNNDeviceTypePRIVATEUSE1)", "TestNNDeviceType", "test_batch_norm", "npu", "",
         ("", "", "")),
        # An op that the installed torch does not know.
        ("test_fn_grad_gone_norm_npu_float64 (__main__.TestBwdGradientsPRIVATEUSE1)", "TestBwdGradients",
         "test_fn_grad_gone_norm_float64", "npu", "float64", ("", "", "")),
        # Made for no device: the name stays whole.
        ("test_abs_npu (__main__.TestFuser)", "TestFuser", "test_abs_npu", "", "", ("", "", "")),
        ("test_cast_cache_is_global (__main__.TestAutocastNPU)", "TestAutocastNPU", "test_cast_cache_is_global", "", "",
         ("", "", "")),
        ("test_gpu_cpu (__main__.TestTransformersPRIVATEUSE1)", "TestTransformersPRIVATEUSE1", "test_gpu_cpu", "", "",
         ("", "", "")),
        ("setUpClass (__main__.TestPluggableAllocator)", "TestPluggableAllocator", "setUpClass", "", "", ("", "", "")),
        ("test_x (jit.test_npu.TestCUDA.test_x)", "TestCUDA", "test_x", "", "", ("", "", "")),
        ("test_bare", "", "test_bare", "", "", ("", "", "")),
    ],
)  # fmt: skip
def test_each_form_has_its_parts(
    text: str, cls: str, name: str, device: str, dtype: str, op: tuple[str, str, str]
) -> None:
    found = parse(text, ops=OPS)
    assert (found.cls, found.name, found.device, found.dtype) == (cls, name, device, dtype)
    assert (found.op, found.variant, found.kind) == op
    assert str(found) == text


def test_a_class_with_a_dot_in_its_parameters_is_one_class_and_a_module_may_be_nested() -> None:
    found = parse("test_output_match_all_cpu_int32 (__main__.TestOnnx_model_type_TorchModelType.TORCH_NN_MODULECPU)")
    assert (found.module, found.cls) == ("__main__.", "TestOnnx_model_type_TorchModelType.TORCH_NN_MODULE")
    assert parse("test_execution (jit.test_backends.TestBackends)").module == "jit.test_backends."


def test_a_backend_s_own_name_of_its_device_is_given() -> None:
    text = "test_out_add_gaudi_int8 (__main__.TestCommonPRIVATEUSE1)"
    assert parse(text).device == ""
    assert parse(text, devices=["gaudi"]).device == "gaudi"


@pytest.mark.parametrize("text", ["", "two words", "test_x (", "test\x1b[2J (a.B)", "x" * 2_001, "test_x ()"])
def test_what_is_no_name_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="is no test's name"):
        parse(text)
