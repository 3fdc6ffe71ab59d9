"""Planned tests of recorded calls."""

import pytest

from conformance import expectations
from conformance.outcomes import Outcome
from sweeps.calls import planning
from sweeps.calls.specs import Call


def test_an_identity_names_op_overload_shapes_dtype_and_digest_and_nothing_of_a_device() -> None:
    call = Call(op="aten::add.Tensor", args=({"t": "int64", "s": []}, {"t": "bfloat16", "s": [2, 30]}))
    found = planning.identity(call)
    assert found.key == f"model_ops::add::aten.add.Tensor::scalar_2x30_bfloat16_{call.digest}"
    assert (found.op, found.variant, found.dtype, found.kind) == ("add", "Tensor", "bfloat16", "call")
    assert planning.digest_of(found) == call.digest


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (Call(op="aten::no_such_op"), "no-op"),
        (Call(op="aten::mkldnn_rnn_layer"), "cpu-kernel"),
        (Call(op="aten::relu", args=({"?": "sparse_coo tensor"},)), "arguments"),
    ],
)
def test_a_call_that_cannot_be_asked_is_invalid_and_says_why(call: Call, rule: str) -> None:
    planned = planning._planned(planning.identity(call), call, "", expectations.load("sim", "sim-1.1"))
    assert planned.decided is not None
    assert (planned.decided.outcome, planned.decided.rule) == (Outcome.INVALID, f"model-ops:{rule}")
