"""Identities name neither the device nor the machine, and different tests never meet in one."""

from pathlib import PurePath

import pytest

from conformance.pytest_hooks.identity import class_without_device, file_of, identify, tree_of, without_device


@pytest.mark.parametrize(
    ("path", "name", "tree"),
    [
        ("/home/me/pytorch/test/test_ops.py", "test_ops", "/home/me/pytorch/test"),
        ("/ci/build-7/test/dynamo/test_misc.py", "dynamo/test_misc", "/ci/build-7/test"),
        ("/home/test/pytorch/test/nn/test_pooling.py", "nn/test_pooling", "/home/test/pytorch/test"),
        ("/srv/tests/mine/check.py", "mine/check", "/srv/tests"),
        ("/srv/anywhere/check.py", "check", "/srv/anywhere"),
    ],
)
def test_a_file_is_named_by_its_place_below_the_test_folder(path: str, name: str, tree: str) -> None:
    assert file_of(PurePath(path)) == name
    assert tree_of(PurePath(path)) == tree


@pytest.mark.parametrize(
    ("name", "plain", "dtype"),
    [
        ("test_out_add_npu_float32", "test_out_add_float32", "float32"),
        ("test_AvgPool2d_empty_npu", "test_AvgPool2d_empty", ""),
        ("test_batch_norm_privateuse1_bfloat16", "test_batch_norm_bfloat16", "bfloat16"),
        ("test_scatter_npu_float32_int64", "test_scatter_float32_int64", "float32_int64"),
        ("test_embedding_npu_int32_int64_float64", "test_embedding_int32_int64_float64", "int32_int64_float64"),
        ("test_cast_npu_float8_e4m3fn", "test_cast_float8_e4m3fn", "float8_e4m3fn"),
        ("test_npu_vitals_npu", "test_npu_vitals", ""),
        ("test_copy_npu_to_cpu_npu_complex64", "test_copy_npu_to_cpu_complex64", "complex64"),
        ("test_no_device_part", "test_no_device_part", ""),
        ("test_npu_only_float32_case", "test_npu_only_float32_case", ""),
    ],
)
def test_the_device_part_is_the_last_one_that_only_dtypes_follow(name: str, plain: str, dtype: str) -> None:
    assert without_device(name, "npu", {}) == (plain, dtype)


def test_where_the_parameters_are_known_the_name_is_not_guessed_at() -> None:
    given = {"dtype": "torch.float32"}
    assert without_device("test_cast_npu_to_npu_float32", "npu", given) == ("test_cast_npu_to_float32", "float32")
    # The dtype at the end belongs to the parametrization: this test has none of its own.
    assert without_device("test_cast_float16_npu", "npu", {"device": "npu:0"})[0] == "test_cast_float16"


def test_a_test_without_a_device_keeps_its_name() -> None:
    assert without_device("test_gpu_cpu_float32", "", {}) == ("test_gpu_cpu_float32", "")
    found = identify(PurePath("/t/test/a.py"), ("TestCPU",), "test_to_cpu", None, None)
    assert (found.cls, found.name, found.dtype) == ("TestCPU", "test_to_cpu", "")


@pytest.mark.parametrize("name", ["TestCommonNEURON", "TestCommonPRIVATEUSE1", "TestCommon"])
def test_a_class_loses_the_device_s_suffix(name: str) -> None:
    assert class_without_device(name, "neuron") == "TestCommon"


def test_a_class_that_is_called_as_the_device_keeps_its_name() -> None:
    assert class_without_device("NEURON", "neuron") == "NEURON"


def test_addresses_are_taken_from_names_and_case_is_kept() -> None:
    found = identify(PurePath("a.py"), (), "test_T[<function f at 0x7f3a5c0d1e80>]", None, None)
    assert found.name == "test_T[<function f at 0x…>]"
    assert identify(PurePath("a.py"), (), "test_t[0x10]", None, None).name == "test_t[0x10]"
