"""Results beside the CPU's: what is equal, what is near enough, and how the worst element is named."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.suites.ops.compare import BY_DTYPE, MismatchError, Tolerance, compare

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")


def message(got, want, overrides=None):
    with pytest.raises(MismatchError) as caught:
        compare(got, want, overrides or {})
    return str(caught.value)


def test_the_default_tolerances_are_those_of_torch_testing():
    for dtype, tolerance in BY_DTYPE.items():
        relative, absolute = torch.testing._comparison.default_tolerances(dtype)
        assert (tolerance.relative, tolerance.absolute) == (relative, absolute)


@pytest.mark.parametrize("dtype", BY_DTYPE)
def test_a_value_is_right_up_to_the_tolerance_and_wrong_beyond_it(dtype):
    want = torch.full((3,), 8.0).to(dtype)
    tolerance = BY_DTYPE[dtype]
    near = torch.full((3,), 8.0 * (1 + tolerance.relative * 0.4), dtype=torch.float64).to(dtype)
    compare(near, want, {})
    assert "3 of 3 elements" in message(torch.full((3,), 8.0 * (1 + tolerance.relative * 9)).to(dtype), want)


def test_a_wider_tolerance_of_the_op_holds():
    compare(torch.tensor([1.05]), torch.tensor([1.0]), {torch.float32: Tolerance(absolute=0.1, relative=0)})


def test_nan_equals_nan_and_nothing_else():
    compare(torch.tensor([math.nan, 1]), torch.tensor([math.nan, 1]), {})
    assert "[1]: nan instead of 1.0" in message(torch.tensor([math.nan, math.nan]), torch.tensor([math.nan, 1]))


def test_infinities_are_told_apart():
    compare(torch.tensor([math.inf, -math.inf]), torch.tensor([math.inf, -math.inf]), {})
    assert "worst at [0]" in message(torch.tensor([math.inf, 0]), torch.tensor([-math.inf, 0]))


def test_the_worst_element_is_named_by_index_and_errors():
    got, want = torch.zeros(2, 3), torch.zeros(2, 3)
    got[1, 2], got[0, 0] = 4.0, 1.0
    text = message(got, want)
    assert text.splitlines()[0] == "values of output differ from the CPU's"
    assert "2 of 6 elements; worst at [1, 2]: 4.0 instead of 0.0, absolute error 4, relative inf" in text


def test_integers_beyond_float64_are_compared_exactly():
    assert "1 of 1" in message(torch.tensor([2**60 + 1]), torch.tensor([2**60]))


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64, torch.bool, torch.float8_e4m3fn])
def test_dtypes_without_a_tolerance_are_compared_exactly(dtype):
    compare(torch.tensor([1, 0]).to(dtype), torch.tensor([1, 0]).to(dtype), {})
    assert "1 of 2 elements; worst at [1]" in message(torch.tensor([1, 1]).to(dtype), torch.tensor([1, 0]).to(dtype))


def test_shape_dtype_layout_and_kind_are_part_of_the_result():
    assert message(torch.ones(2, 1), torch.ones(2)).startswith("shape of output differs")
    assert message(torch.ones(2).double(), torch.ones(2)).startswith("dtype of output differs")
    assert message(torch.eye(2).to_sparse(), torch.eye(2)).startswith("layout of output differs")
    assert message(3.0, torch.ones(2)) == "output is a float and not a tensor"
    assert message((torch.ones(1),), (torch.ones(1), torch.ones(1))).startswith("output has another structure")
    assert message(True, 1).startswith("output differs")


def test_the_place_within_a_nested_result_is_named():
    assert "values of output[1]['a']" in message((0, {"a": torch.ones(1)}), (0, {"a": torch.zeros(1)}))


def test_sparse_results_are_compared_by_value():
    compare(torch.eye(3).to_sparse(), torch.eye(3).to_sparse(), {})
    assert "values of" in message((torch.eye(3) * 2).to_sparse(), torch.eye(3).to_sparse())


def test_conjugate_views_are_compared_by_value():
    value = torch.tensor([1 + 2j])
    compare(value.conj(), torch.tensor([1 - 2j]), {})
    half = value.to(torch.complex32)
    compare(half.conj(), torch.tensor([1 - 2j]).to(torch.complex32), {})


@settings(deadline=None)
@given(st.lists(st.floats(width=32), min_size=1, max_size=6), st.lists(st.floats(width=32), min_size=1, max_size=6))
def test_it_agrees_with_torch_testing(got, want):
    got, want = (torch.tensor(each[: min(len(got), len(want))]) for each in (got, want))
    try:
        torch.testing.assert_close(got, want, equal_nan=True)
    except AssertionError:
        assert message(got, want)
    else:
        compare(got, want, {})
