"""Each kind of question catches a device that is wrong in its own way, and lets one pass that is right."""

import pytest
import torch

from conformance.outcomes import Outcome, Stage
from conformance.targets import Compiled
from tests.suites.ops.doubles import Double, attempt, attempt_with

RIGHT = [
    ("forward", "softmax"), ("noncontiguous", "matmul"), ("transposed", "cumsum"), ("out", "add"), ("out", "sort"),
    ("out", "split_with_sizes_copy"), ("inplace", "add"), ("backward", "linalg.svd"), ("backward", "linalg.qr"),
    ("error_inputs", "dot"), ("dtypes", "add"), ("compiled", "add"), ("forward", "randn"),
    ("backward", "nn.functional.dropout"), ("forward", "empty_like"), ("forward", "arange"),
    ("forward", "tensor_split"), ("compiled", "rand_like"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "op"), RIGHT)
def test_a_right_device_passes(kind, op):
    made = attempt(kind, op)
    assert made.outcome is Outcome.PASS, made.message


def test_gradients_of_samples_that_share_memory_are_those_of_leaves():
    made = attempt("backward", "istft", "complex64")
    assert made.outcome is Outcome.PASS, made.message


def failure(made):
    assert made.outcome is Outcome.FAIL, made
    return made.message.splitlines()[0].removeprefix("MismatchError: ")


def test_reading_between_the_elements_is_caught_by_the_noncontiguous_kind():
    def ignores_strides(value, *args, **kwargs):
        return torch.neg(value.as_strided(value.shape, torch.empty(value.shape).stride(), 0))

    assert attempt_with("forward", "neg", ignores_strides, only=0).outcome is Outcome.PASS
    assert failure(attempt_with("noncontiguous", "neg", ignores_strides, only=0)).startswith("values of output")
    assert failure(attempt_with("transposed", "neg", ignores_strides, only=0)).startswith("values of output")


def test_a_layout_that_the_cpu_refuses_is_no_question():
    made = attempt("noncontiguous", "view_as_complex")
    assert (made.outcome, made.rule) == (Outcome.SKIP_ELIGIBILITY, "ops:no-samples")


def test_out_that_is_not_written_is_caught():
    def forgets(*args, out, **kwargs):
        return out

    assert failure(attempt_with("out", "add", forgets)) == "values of output differ from the CPU's"


def test_out_that_is_not_given_back_is_caught():
    def returns_another(*args, out, **kwargs):
        return torch.add(*args, out=out, **kwargs).clone()

    assert failure(attempt_with("out", "add", returns_another)) == "what is returned is not the out= that was given"


def test_out_whose_memory_is_replaced_is_caught():
    def moves(*args, out, **kwargs):
        with torch.no_grad():
            out.set_(torch.add(*args, **kwargs))
        return out

    assert failure(attempt_with("out", "add", moves)) == "out[0] was moved to other memory"


def test_out_of_a_wrong_dtype_that_is_accepted_is_caught():
    def accepts(*args, out, **kwargs):
        return (
            out.copy_(torch.add(*args, **kwargs)) if out.dtype is torch.int32 else torch.add(*args, out=out, **kwargs)
        )

    made = attempt_with("out", "add", accepts)
    assert failure(made) == "no error where the CPU raises RuntimeError"
    assert "sample 0 (out= of other dtype)" in made.message


def test_out_that_is_not_resized_is_caught():
    def keeps_size(*args, out, **kwargs):
        return torch.add(*args, out=out, **kwargs) if out.numel() else out

    made = attempt_with("out", "add", keeps_size)
    assert failure(made) == "shape of output differs from the CPU's"
    assert "(out= of empty)" in made.message


def test_an_in_place_variant_that_leaves_or_replaces_its_input_is_caught():
    def leaves(value, *args, **kwargs):
        return value + 0 if kwargs else torch.add(value, *args)

    assert failure(attempt_with("inplace", "add", leaves, part="inplace_variant")).startswith("values of output")

    def returns_a_copy(value, *args, **kwargs):
        return value.add_(*args, **kwargs).clone()

    told = failure(attempt_with("inplace", "add", returns_a_copy, part="inplace_variant"))
    assert told == "the in-place variant does not return its input"


def test_a_wrong_gradient_of_a_right_result_is_caught():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(_ctx, value):
            return value.sin()

        @staticmethod
        def backward(_ctx, gradient):
            return gradient

    made = attempt_with("backward", "sin", lambda value: Wrong.apply(value))
    assert failure(made).startswith("values of gradient[0] differ")
    assert made.stage is Stage.COMPARE


def test_a_gradient_that_is_missing_is_caught():
    made = attempt_with("backward", "mul", lambda one, other, **kwargs: torch.mul(one.detach(), other, **kwargs))
    assert failure(made).startswith("gradient[0]")


def test_factors_with_other_signs_are_right_forward_and_backward():
    def other_signs(*args, **kwargs):
        u, s, v = torch.linalg.svd(*args, **kwargs)
        return torch.return_types.linalg_svd((-u, s, -v))

    assert attempt_with("forward", "linalg.svd", other_signs).outcome is Outcome.PASS
    assert attempt_with("backward", "linalg.svd", other_signs).outcome is Outcome.PASS


def test_singular_values_that_are_wrong_are_caught():
    def wrong(*args, **kwargs):
        u, s, v = torch.linalg.svd(*args, **kwargs)
        return torch.return_types.linalg_svd((u, s * 2, v))

    assert attempt_with("forward", "linalg.svd", wrong).outcome is Outcome.FAIL


def test_a_promised_error_that_does_not_come_or_is_another_is_caught():
    assert failure(attempt_with("error_inputs", "dot", lambda *args, **kwargs: None)).startswith("no error where")

    def another(*args, **kwargs):
        raise RuntimeError("something else")

    assert failure(attempt_with("error_inputs", "dot", another)).startswith("another error than the promised")

    def refuses(*args, **kwargs):
        raise NotImplementedError("no dot here")

    assert attempt_with("error_inputs", "dot", refuses).outcome is Outcome.ERROR


def test_a_claimed_dtype_that_is_refused_is_caught_and_an_unclaimed_one_that_works_is_told():
    def no_bool(value, *args, **kwargs):
        if value.dtype is torch.bool:
            raise RuntimeError("no bool")
        return torch.neg(value, *args, **kwargs)

    claimed = frozenset({"float32", "bool"})
    assert "works without being claimed: " in attempt("dtypes", "abs", claimed=claimed).message
    made = attempt_with("dtypes", "logical_not", lambda value, **kwargs: no_bool(value), claimed=claimed)
    assert failure(made) == "claimed but refused: bool"
    assert "bool: RuntimeError: no bool" in made.message


def test_a_compiled_op_without_a_compiled_node_is_unproven():
    made = attempt("compiled", "add", device=Double(graphs=()))
    assert (made.outcome, made.rule) == (Outcome.UNPROVEN, "no-compiled-node")


def test_compiling_and_running_are_told_apart():
    made = attempt("compiled", "add")
    assert set(made.seconds) == {"setup", "compile", "execute", "compare"}
    assert made.seconds["execute"] < made.seconds["compile"]
    warm = (Compiled(graph="g", nodes=1, compile_seconds=0.0, warm=True),)
    assert "compile_warm" in attempt("compiled", "add", device=Double(graphs=warm)).seconds


def test_a_random_op_is_caught_by_its_shape_and_its_distribution():
    far = attempt_with("forward", "randn", lambda *args, **kwargs: torch.randn(*args, **kwargs) + 100)
    assert failure(far) == "distribution of output[0] differs from the CPU's"
    double = attempt_with("forward", "randn", lambda *args, **kwargs: torch.randn(*args, **kwargs).double())
    assert failure(double) == "dtype of output[0] differs from the CPU's"
