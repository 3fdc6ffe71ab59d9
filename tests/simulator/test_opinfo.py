"""The whole OpInfo database on the device with everything native, and what two releases make of some of it."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

from conformance import classify, expectations
from conformance.outcomes import Outcome, TestId
from conformance.pairs import PairClass, pair_class
from conformance.simulator import table
from conformance.targets import Device, sim
from tests.simulator.conftest import Start

pytestmark = pytest.mark.filterwarnings("ignore")

NO_REFERENCE = {
    "cauchy", "exponential", "geometric", "log_normal", "normal", "uniform", "randn", "randn_like", "rand_like",
    "randint", "randint_like", "multinomial", "bernoulli", "nn.functional.rrelu", "empty", "empty_like", "new_empty",
    "new_empty_strided", "empty_strided", "empty_permuted", "nn.functional.multi_head_attention_forward",
}  # fmt: skip
"""Random ops, and memory that nobody wrote: shape and dtype are all that can be compared."""

NOT_HERE = {"sparse.sampled_addmm", "sparse.mm.reduce", "to_sparse"}
"""Sparse layouts: a known limit of the simulated device."""


def moved(value: Any, *, keep: bool) -> Any:
    """A copy on the device. `keep` leaves integer tensors, such as the split points of tensor_split, where they are."""

    def move(each: Any) -> Any:
        if isinstance(each, torch.Tensor):
            there = each if keep and each.dtype is torch.int64 else each.detach().to("neuron")
            return there.requires_grad_(each.requires_grad)
        return "neuron" if each == "cpu" or each == torch.device("cpu") else each

    return tree_map(move, value)


def wanting(sample: Any) -> list[torch.Tensor]:
    """The tensors of a sample whose gradients are wanted."""
    leaves = tree_leaves((sample.input, sample.args, sample.kwargs))
    return [each for each in leaves if isinstance(each, torch.Tensor) and each.requires_grad]


def twin(sample: Any, *, keep: bool) -> Any:
    """The sample with its tensors on the device."""
    value, args, kwargs = moved((sample.input, sample.args, sample.kwargs), keep=keep)
    return type(sample)(value, args=args, kwargs=kwargs)


def answers(op: Any, sample: Any, *, backward: bool) -> list[torch.Tensor]:
    answer = op(sample.input, *sample.args, **sample.kwargs)
    if not backward:
        return [each for each in tree_leaves(answer) if isinstance(each, torch.Tensor)]
    outputs = [each for each in tree_leaves(answer) if isinstance(each, torch.Tensor) and each.requires_grad]
    loss = sum((each.abs().float().sum() for each in outputs), torch.zeros(()))
    return [each for each in torch.autograd.grad(loss, wanting(sample), allow_unused=True) if each is not None]


def samples(*, backward: bool) -> Iterator[tuple[Any, Any]]:
    for op in op_db:
        if op.full_name in NOT_HERE or op.name.startswith("jiterator") or not (dtypes := op.supported_dtypes("cpu")):
            continue
        dtype = torch.float32 if torch.float32 in dtypes else min(dtypes, key=str)
        if backward and not (op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")):
            continue
        for sample in op.sample_inputs("cpu", dtype, requires_grad=backward):
            if not backward or wanting(sample):
                yield op, sample
            break


def wrong(*, backward: bool) -> tuple[int, dict[str, str]]:
    """How many were right, and what was wrong with the others."""
    right, others = 0, {}
    for op, sample in samples(backward=backward):
        there = twin(sample, keep=op.name == "tensor_split")
        try:
            torch.manual_seed(0)
            expected = answers(op, sample, backward=backward)
            actual = answers(op, there, backward=backward)
            compare(actual, expected, values=op.name not in NO_REFERENCE)
            right += 1
        except Exception as error:  # counted and named
            others[op.full_name] = f"{type(error).__name__}: {error}"[:200]
    return right, others


def compare(actual: list[torch.Tensor], expected: list[torch.Tensor], *, values: bool) -> None:
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        if values:
            torch.testing.assert_close(ours.cpu(), theirs, equal_nan=True)


@pytest.mark.slow
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(("backward", "at_least"), [(False, 690), (True, 538)])
def test_first_samples_of_the_opinfo_database_are_right(backward: bool, at_least: int) -> None:
    right, others = wrong(backward=backward)
    print(f"{right} right of {right + len(others)}")
    assert not others
    assert right >= at_least


def outcome(device: Device, release: str, name: str, dtype: str) -> tuple[Outcome, str, frozenset[str]]:
    """Outcome, cause and fallback ops of the forward of one op, all samples but those without a reference."""
    op = next(each for each in op_db if each.full_name == name)
    test = TestId(suite="ops", file="", cls="forward", name=name, op=op.name, variant=op.variant_test_name, dtype=dtype)
    if decided := expectations.load("sim", release).decide(test):
        return decided.outcome, decided.rule, frozenset()
    device.clear()
    try:
        for sample in op.sample_inputs("cpu", getattr(torch, dtype)):
            there = twin(sample, keep=False)
            values = name not in ("svd_lowrank", "pca_lowrank")
            compare(answers(op, there, backward=False), answers(op, sample, backward=False), values=values)
    except Exception as error:
        verdict = classify.of_exception(error)
        return verdict.outcome, verdict.cause, frozenset()
    executed, fallback = device.executed_ops(), device.fallback_ops()
    proof = classify.of_proof(tracks=True, executed=executed, fallback=fallback, outputs_on_device=True, computes=True)
    return proof.outcome, proof.rule, fallback


CHANGES = {
    ("add", "float32"): PairClass.SAME,
    ("linalg.eigh", "float32"): PairClass.SAME,
    ("special.legendre_polynomial_p", "float32"): PairClass.SAME,
    ("nn.functional.mish", "float32"): PairClass.LOST_PROOF,
    ("renorm", "float32"): PairClass.LOST_PROOF,
    ("histc", "float32"): PairClass.FELL_BACK,
    ("heaviside", "float32"): PairClass.FELL_BACK,
    ("linalg.pinv.hermitian", "float32"): PairClass.FELL_BACK,
    ("nn.functional.fractional_max_pool2d", "float32"): PairClass.LOST_COVERAGE,
    ("histogram", "float32"): PairClass.LOST_COVERAGE,
    ("nn.functional.pdist", "float32"): PairClass.LOST_COVERAGE,
    ("geqrf", "float32"): PairClass.LOST_COVERAGE,
    ("nextafter", "float32"): PairClass.REGRESSED,
    ("frexp", "float32"): PairClass.REGRESSED,
    ("logspace", "float32"): PairClass.REGRESSED,
    ("erfinv", "bfloat16"): PairClass.REGRESSED,
    ("logaddexp2", "float32"): PairClass.PROVEN,
    ("cumprod", "float32"): PairClass.CAME_HOME,
    ("stft", "float32"): PairClass.CAME_HOME,
    ("svd_lowrank", "float32"): PairClass.FALLBACK_CHANGED,
    ("nn.functional.grid_sample", "float32"): PairClass.GAINED_COVERAGE,
    ("add", "complex64"): PairClass.GAINED_COVERAGE,
    ("searchsorted", "float32"): PairClass.GAINED_COVERAGE,
    ("kthvalue", "float32"): PairClass.NOW_FAILS,
    ("digamma", "float32"): PairClass.FIXED,
    ("special.shifted_chebyshev_polynomial_t", "float32"): PairClass.FIXED,
    ("polar", "float32"): PairClass.FIXED,
    ("igammac", "float32"): PairClass.CHANGED_FAILURE,
    ("nn.functional.softshrink", "float32"): PairClass.WORSE,
    ("sinc", "float32"): PairClass.BETTER,
}
"""By the support table's changes: every pair class that tables alone can produce."""


@pytest.fixture
def shipped(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(table.TABLE, raising=False)


@pytest.mark.usefixtures("shipped")
def test_the_two_releases_differ_in_every_class_that_tables_can_produce() -> None:
    seen: dict[str, dict[tuple[str, str], tuple[Outcome, str, frozenset[str]]]] = {}
    for release in table.releases():
        device = sim.target("sim").activate(release)
        seen[release] = {(name, dtype): outcome(device, release, name, dtype) for name, dtype in CHANGES}
    before, after = seen.values()
    found = {
        each: pair_class(
            before[each][0], after[each][0], same_cause=before[each][1] == after[each][1],
            ops_a=before[each][2], ops_b=after[each][2],
        )
        for each in CHANGES
    }  # fmt: skip
    assert found == CHANGES
    others = {
        PairClass.ADDED, PairClass.REMOVED, PairClass.TEST_CHANGED, PairClass.NOT_RUN_HERE, PairClass.INFRA_EITHER,
        PairClass.ENVIRONMENT_CHANGED, PairClass.ELIGIBILITY_CHANGED,
    }  # fmt: skip
    assert set(found.values()) == set(PairClass) - others


@pytest.mark.parametrize("release", table.releases())
def test_no_entry_of_the_coverage_file_is_dead(release: str) -> None:
    tests = [
        TestId(
            suite="ops", file="", cls=kind, name=f"{op.full_name}/{dtype}", op=op.name,
            variant=op.variant_test_name, dtype=str(dtype).removeprefix("torch."), kind=kind,
        )
        for kind in ("forward", "compiled")
        for op in op_db
        for dtype in op.supported_dtypes("cpu")
    ]  # fmt: skip
    # Those of FlexAttention name cases of another suite, which tests/sweeps/flex holds to their plan.
    assert [each for each in expectations.load("sim", release).dead(tests) if not each.startswith("flex-")] == []
