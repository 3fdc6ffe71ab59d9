"""Results that are random or right up to a choice."""

import pytest
import torch

from conformance.suites.ops.compare import MismatchError
from conformance.suites.ops.gauge import without_overflow, without_signs, without_wide_shifts
from conformance.suites.ops.samples import Call
from conformance.suites.ops.statistics import compare_distributions, compare_forms, ks_distance


@pytest.mark.parametrize("draw", [torch.rand, torch.randn, lambda *size: torch.randint(0, 3, size).float()])
def test_two_samples_of_one_distribution_agree(draw):
    torch.default_generator.manual_seed(1)
    for size in (19, 100, 10_000):
        compare_distributions(draw(size), draw(size))


@pytest.mark.parametrize(
    "wrong", [torch.zeros(400), torch.rand(400) + 1, torch.full((400,), torch.nan), torch.rand(400) * 20 - 10]
)
def test_a_constant_a_shifted_and_a_wider_sample_are_seen(wrong):
    torch.default_generator.manual_seed(1)
    with pytest.raises(MismatchError, match=r"distribution of output\[0\] differs"):
        compare_distributions(wrong, torch.rand(400))


def test_the_distance_is_the_largest_gap_of_the_distribution_functions():
    assert ks_distance(torch.tensor([0.0, 1.0]), torch.tensor([2.0, 3.0])) == 1
    assert ks_distance(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 3.0])) == 0.5
    assert ks_distance(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 1.0])) == 0


def test_values_that_are_drawn_together_count_as_one():
    channels = torch.tensor([0.0, 2.0]).repeat_interleave(100).reshape(1, 2, 10, 10)
    compare_distributions(torch.zeros(1, 2, 10, 10), channels, cluster=2)
    with pytest.raises(MismatchError):
        compare_distributions(torch.zeros(1, 2, 10, 10), channels)


def test_forms_are_shapes_dtypes_and_strides():
    compare_forms(torch.empty(2, 3), torch.empty(2, 3))
    for wrong in (torch.empty(3, 2), torch.empty(2, 3).double(), torch.empty(3, 2).t(), [torch.empty(2, 3)] * 2):
        with pytest.raises(MismatchError):
            compare_forms(wrong, torch.empty(2, 3))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
def test_factorisations_that_differ_in_phases_are_the_same(dtype, shape):
    torch.default_generator.manual_seed(2)
    q, r = torch.linalg.qr(torch.randn(shape, dtype=dtype))
    phase = torch.tensor([1j, -1, -1j, 1] if dtype.is_complex else [1, -1, -1, 1], dtype=dtype)[: q.shape[-1]]
    turned = (q * phase, phase.conj().unsqueeze(-1) * r)
    for one, other in zip(without_signs((q, r)), without_signs(turned), strict=True):
        torch.testing.assert_close(one, other)


def test_casts_are_compared_where_the_value_fits():
    values = torch.tensor([-129.0, -128.9, 0.5, 127.9, 128.0, torch.nan, torch.inf])
    process = without_overflow(Call(index=0, input=values, args=(), kwargs={}))
    assert process(torch.ones(7, dtype=torch.int8)).tolist() == [0, 1, 1, 1, 0, 0, 0]
    assert process(torch.ones(7, dtype=torch.int64)).tolist() == [1, 1, 1, 1, 1, 0, 0]


def test_shifts_are_compared_where_the_distance_is_within_the_width():
    distances = torch.tensor([-1, 0, 7, 8], dtype=torch.int8)
    process = without_wide_shifts(Call(index=0, input=torch.ones(4), args=(distances,), kwargs={}))
    assert process(torch.ones(2, 4, dtype=torch.int8)).tolist() == [[0, 1, 1, 0]] * 2
