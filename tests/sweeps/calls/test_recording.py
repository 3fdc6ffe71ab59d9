"""What is recorded of a forward's aten calls."""

import pytest
import torch
from torch import Tensor

from sweeps.calls.recording import Counted, bounds_of, wider
from sweeps.calls.specs import LONGEST, Call, encode
from sweeps.watching import Watched


def recorded(*works: object) -> dict[str, Counted]:
    """The distinct calls of some functions, by what people read."""
    seen = Watched()
    with torch.no_grad(), seen:
        for each in works:
            each()  # type: ignore[operator]
    return {each.call.describe(): each for each in seen.calls.calls().values()}


def test_equal_calls_are_one_with_their_number() -> None:
    x = torch.ones(2, 3)
    found = recorded(lambda: x + x, lambda: x + x, lambda: x.t() + 1.0)
    assert found["aten::add.Tensor(float32[2, 3], float32[2, 3])"].count == 2
    assert found["aten::add.Tensor(float32[3, 2] strides [1, 3], 1.0)"].count == 1


def test_arguments_that_are_equal_numbers_of_other_types_are_other_calls() -> None:
    x = torch.ones(2)
    assert len(recorded(lambda: x * 2, lambda: x * 2.0, lambda: x * True)) == 3


def test_bounds_are_those_of_all_values_before_the_call_writes() -> None:
    x = torch.tensor([0.25, -3.0])
    found = recorded(lambda: x.mul_(1000.0))
    assert found["aten::mul_.Tensor(float32[2], 1000.0)"].bounds == ((-10.0, 1.0),)


@pytest.mark.parametrize(
    ("value", "bounds"),
    [
        (torch.tensor([3, -7, 5]), (-7, 5)),
        (torch.tensor([True, False, True]), (2, 2)),
        (torch.tensor([0.02, 40.0]), (0.01, 100.0)),
        (torch.tensor([0.0, -0.02]), (-0.1, 0.0)),
        (torch.tensor([float("-inf"), 0.0]), (-1e38, 0.0)),
        (torch.tensor([float("nan")]), None),
        (torch.zeros(0), None),
        (torch.tensor([1j]), None),
        (torch.zeros(2, device="meta"), None),
    ],
)
def test_the_bounds_of_a_tensor(value: Tensor, bounds: object) -> None:
    assert bounds_of(value) == bounds


def test_bounds_of_two_models_hold_for_both() -> None:
    assert wider(((0, 5), None), ((-1, 3), (2, 2))) == ((-1, 5), (2, 2))


@pytest.mark.parametrize("heads", [4, 2])
def test_attention_is_what_the_model_called_and_not_the_kernel_of_the_cpu(heads: int) -> None:
    q, k, mask = torch.randn(1, 4, 8, 16), torch.randn(1, heads, 8, 16), torch.zeros(1, 1, 8, 8)
    attention = torch.nn.functional.scaled_dot_product_attention
    (found,) = recorded(lambda: attention(q, k, k, attn_mask=mask, scale=0.5, enable_gqa=heads != 4))
    given = f"float32[1, 4, 8, 16], float32[1, {heads}, 8, 16], float32[1, {heads}, 8, 16], float32[1, 1, 8, 8]"
    shared = "" if heads == 4 else ", enable_gqa=True"
    assert found == f"aten::scaled_dot_product_attention({given}, scale=0.5{shared})"


def test_a_call_has_the_same_digest_wherever_it_is_made() -> None:
    call = Call(
        op="aten::sum.dim_IntList", args=(encode(torch.zeros(2, 3)), [1]), kwargs={"dtype": encode(torch.float64)}
    )
    assert call.digest == "d1gest" or len(call.digest) == 12
    assert call.digest == "eeaee04ff030"
    again = Call(op=call.op, args=({"s": [2, 3], "t": "float32"}, (1,)), kwargs={"dtype": {"y": "float64"}})
    assert again.digest == call.digest
    assert Call(op=call.op, args=({"s": [2, 3], "t": "float32"}, (1,))).digest != call.digest


def test_an_argument_that_is_not_kept_says_what_it_was() -> None:
    long = Call(op="aten::split_with_sizes", args=(encode(torch.zeros(3)), encode([1] * (LONGEST + 1))))
    odd = Call(op="aten::add.Tensor", args=(encode(torch.zeros(2).to_sparse()), encode(object())))
    assert long.lost() == [f"list of {LONGEST + 1}"]
    assert odd.lost() == ["sparse_coo tensor", "object"]
    assert encode(float("inf")) == {"f": "inf"}


def test_views_are_recorded_without_looking_at_values() -> None:
    x = torch.tensor([[0.25, -3.0]])
    found = recorded(lambda: x.t(), lambda: x.abs())
    assert found["aten::t(float32[1, 2])"].bounds == ()
    assert found["aten::abs(float32[1, 2])"].bounds == ((-10.0, 1.0),)


def test_a_kernel_that_the_cpu_alone_has_is_told_from_what_any_device_is_asked_for() -> None:
    assert Call(op="aten::mkldnn_rnn_layer").host
    assert not Call(op="aten::convolution").host
