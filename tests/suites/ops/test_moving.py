"""Samples: copies on a device, reproducible generation, descriptions."""

from collections import namedtuple

import pytest
import torch

from conformance.suites.ops.moving import Mover, tensors, to_cpu
from conformance.suites.ops.samples import Call, describe, generate, seed_of
from tests.suites.ops.doubles import catalogue


def moved(value):
    return Mover(device="cpu")(value)


def layouts():
    base = torch.arange(24.0).reshape(2, 3, 4)
    return {
        "contiguous": base,
        "transposed": base.transpose(0, 2),
        "strided": base[:, ::2, 1:],
        "expanded": torch.ones(3, 1).expand(3, 5),
        "overlapping": torch.arange(6.0).as_strided((3, 3), (1, 1)),
        "scalar": torch.tensor(3.0),
        "empty": torch.empty(0, 3),
        "channels last": torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "conjugate": torch.randn(3, dtype=torch.complex64).conj(),
        "negative": torch.randn(3, dtype=torch.complex64).conj().imag,
        "complex part": torch.randn(3, dtype=torch.complex64).real,
        "half complex": torch.randn(3).to(torch.complex32),
        "eight bits": torch.ones(4).to(torch.float8_e5m2),
        "sixteen bits": torch.ones(4, dtype=torch.uint16),
    }


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("number", range(14))
def test_a_copy_has_the_values_strides_and_flags_of_the_original_and_memory_of_its_own(number):
    original = list(layouts().values())[number]
    copy = moved(original)
    assert (copy.shape, copy.dtype, copy.stride()) == (original.shape, original.dtype, original.stride())
    assert (copy.is_conj(), copy.is_neg(), copy.is_leaf) == (original.is_conj(), original.is_neg(), True)
    torch.testing.assert_close(copy.resolve_conj(), original.resolve_conj(), rtol=0, atol=0)
    assert original.numel() == 0 or copy.untyped_storage().data_ptr() != original.untyped_storage().data_ptr()


def test_tensors_that_share_memory_share_it_in_the_copy():
    base = torch.zeros(4)
    first, second, other = moved((base, base[2:], torch.zeros(4)))
    second.fill_(7)
    assert first.tolist() == [0, 0, 7, 7]
    assert other.tolist() == [0, 0, 0, 0]


def test_requires_grad_is_kept_and_history_is_not():
    leaf = torch.ones(2, requires_grad=True)
    copy, plain = moved([leaf * 2, torch.ones(2)])
    assert copy.requires_grad
    assert copy.is_leaf
    assert not plain.requires_grad


def test_nesting_is_kept_and_other_values_are_themselves():
    Pair = namedtuple("Pair", "a b")
    value = {"a": [torch.ones(1), (1, "x")], "b": Pair(a=None, b=torch.Size([2])), "c": torch.float32}
    copy = moved(value)
    assert isinstance(copy["b"], Pair)
    assert isinstance(copy["b"].b, torch.Size)
    assert copy["a"][1] == (1, "x")
    assert copy["c"] is torch.float32


def test_the_device_is_named_in_the_copy_and_generators_are_its_own():
    generator = torch.Generator().manual_seed(5)
    device, named, copy = Mover(device="meta")(("cpu", torch.device("cpu"), "mean"))
    assert (device, named, copy) == (torch.device("meta"), torch.device("meta"), "mean")
    assert moved(generator) is not generator
    assert moved(generator).initial_seed() == 5


def test_sparse_tensors_are_copied_whole():
    original = torch.eye(3).to_sparse()
    assert torch.equal(moved(original).to_dense(), original.to_dense())


def test_results_come_back_without_history():
    result = {"a": torch.ones(2, requires_grad=True) * 2}
    assert not to_cpu(result)["a"].requires_grad
    assert len(tensors([result, 3])) == 1


def test_an_op_that_makes_tensors_from_numbers_is_told_the_device():
    call = Call(index=0, input=0, args=(5,), kwargs={})
    assert call.moved("meta", factory=True).on(torch.arange).device.type == "meta"


def test_an_argument_can_stay_on_the_cpu():
    call = Call(index=0, input=torch.ones(4), args=(torch.tensor([1, 2]),), kwargs={})
    copy = call.moved("meta", host=0)
    assert (copy.input.device.type, copy.args[0].device.type) == ("meta", "cpu")


def test_samples_are_the_same_whatever_is_drawn_between_them():
    op = catalogue.by_name()["add"]
    plain = [each.describe() + str(each.input) for each in generate(op, torch.float32, seed_of("x"))]
    disturbed = []
    for each in generate(op, torch.float32, seed_of("x")):
        disturbed.append(each.describe() + str(each.input))
        torch.rand(3)
    assert plain == disturbed


def test_samples_of_other_tests_are_other_values():
    op = catalogue.by_name()["add"]
    first, second = (next(generate(op, torch.float32, seed_of(key))).input for key in ("a", "b"))
    assert not torch.equal(first, second)


def test_a_sample_is_described_by_shapes_dtypes_strides_and_arguments():
    call = Call(
        index=0,
        input=torch.ones(2, 3).t(),
        args=([torch.ones(1, dtype=torch.int64)], 2),
        kwargs={"alpha": None, "f": max},
    )
    assert call.describe() == "float32[3, 2] strides (1, 3), [int64[1]], 2, alpha=None, f=max"
    assert describe({"a": torch.eye(2).to_sparse()}) == "{a: float32[2, 2] sparse_coo}"


def test_a_long_description_is_cut():
    call = Call(index=0, input=[torch.ones(1)] * 500, args=(), kwargs={})
    assert len(call.describe()) < 710
