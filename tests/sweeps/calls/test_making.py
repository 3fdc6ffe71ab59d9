"""Arguments that are made for a recorded call."""

import pytest
import torch

from conformance.suites.ops.moving import tensors
from sweeps.calls.making import MOST_ELEMENTS, NotMadeError, made, overload
from sweeps.calls.recording import Recorder
from sweeps.calls.specs import Call
from sweeps.watching import Watched


def test_arguments_have_the_form_and_the_bounds_that_were_recorded_and_are_the_same_again() -> None:
    call = Call(
        op="aten::embedding",
        args=({"t": "bfloat16", "s": [7, 4]}, {"t": "int64", "s": [2, 3], "g": [1, 2]}, -1),
        kwargs={
            "dtype": {"y": "int32"},
            "device": {"d": 1},
            "memory_format": {"m": "channels_last"},
            "x": {"f": "-inf"},
        },
    )
    one, other = made(call, ((-0.1, 0.1), (2, 6))), made(call, ((-0.1, 0.1), (2, 6)))
    weight, ids = tensors((one.input, *one.args))
    assert (weight.dtype, weight.shape, ids.stride()) == (torch.bfloat16, (7, 4), (1, 2))
    assert 0.05 < weight.abs().max() <= 0.1
    assert set(ids.flatten().tolist()) <= {2, 3, 4, 5, 6}
    assert one.args[1] == -1
    assert one.kwargs == {
        "dtype": torch.int32, "device": torch.device("cpu"), "memory_format": torch.channels_last, "x": float("-inf")
    }  # fmt: skip
    assert all(map(torch.equal, tensors((one.input, one.args)), tensors((other.input, other.args))))


def test_a_bool_has_as_many_true_elements_as_there_were() -> None:
    call = Call(op="aten::nonzero", args=({"t": "bool", "s": [4, 5]},))
    assert int(made(call, ((7, 7),)).input.sum()) == 7


def test_an_expanded_tensor_is_expanded_again() -> None:
    call = Call(op="aten::add.Tensor", args=({"t": "float32", "s": [8, 3], "g": [0, 1]}, 1))
    value = made(call, ()).input
    assert value.untyped_storage().nbytes() == 3 * 4
    assert value.stride() == (0, 1)


def test_indices_that_are_written_to_do_not_meet() -> None:
    index = {"t": "int64", "s": [6]}
    call = Call(op="aten::index_put_", args=({"t": "float32", "s": [9]}, [index], {"t": "float32", "s": [6]}))
    (found,) = made(call, ((0, 1), (0, 8), (0, 1))).args[0]
    assert len(set(found.tolist())) == 6


def test_offsets_ascend_from_the_first_to_the_last() -> None:
    call = Call(op="aten::_grouped_mm", args=tuple({"t": each, "s": [4]} for each in ("float32", "float32", "int32")))
    offsets = made(call, ((0, 1), (0, 1), (3, 64))).args[1].tolist()
    assert offsets == sorted(offsets)
    assert (offsets[0], offsets[-1]) == (3, 64)


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ({"?": "SymInt"}, "SymInt is no argument that is kept"),
        ({"t": "float32", "s": [MOST_ELEMENTS + 1]}, "its tensors have 50,000,001 elements"),
        ({"t": "load", "s": [1]}, "the installed torch has no dtype 'load'"),
        ({"t": "__name__", "s": [1]}, "the installed torch has no dtype"),
        ({"z": 1}, "an argument has no known form"),
    ],
)
def test_arguments_that_cannot_be_made_are_refused_in_a_sentence(argument: object, why: str) -> None:
    with pytest.raises(NotMadeError, match=why):
        made(Call(op="aten::relu", args=(argument,)), ())


def test_an_op_that_torch_does_not_have_is_refused() -> None:
    assert overload("aten::add.Tensor")(torch.ones(1), 1).item() == 2
    for name in ("aten::no_such_op", "aten::add.NoSuch", "nobody::add", "add"):
        with pytest.raises(NotMadeError, match="has no op"):
            overload(name)


def test_what_was_recorded_can_be_called_again() -> None:
    torch.manual_seed(0)
    layer, ids = torch.nn.Embedding(30, 8), torch.randint(30, (2, 5))

    def work() -> None:
        x = layer(ids)
        x = torch.nn.functional.layer_norm(x.transpose(1, 2).contiguous(), (5,)) @ torch.ones(5, 3)
        x.masked_fill_(x > 0, float("-inf")).softmax(-1).topk(2, dim=1)
        torch.cat([x, x.new_zeros(2, 8, 1)], -1)[:, torch.tensor([0, 2])].clamp(min=0).to(torch.bfloat16)

    seen = Watched()
    with torch.no_grad(), seen:
        work()
    again = Recorder()
    for each in seen.calls.calls().values():
        sample = made(each.call, each.bounds)
        sample.on(overload(each.call.op))
        again.take(overload(each.call.op), (sample.input, *sample.args), sample.kwargs)
    assert len(seen.calls.calls()) > 12
    assert again.calls().keys() == seen.calls.calls().keys()
