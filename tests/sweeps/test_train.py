"""What a training step of a model ends as, on a device that reports what the test tells it to."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from conformance.outcomes import Attempt, Outcome, RanOn, Stage
from sweeps.facts import Facts
from sweeps.inputs import Inputs
from sweeps.inputs.filling import normal, tensors
from sweeps.outputs import Difference
from sweeps.signature import Signature
from sweeps.stages import moving, teacher, train
from sweeps.stages.loop import STEPS
from sweeps.stages.losses import Loss
from sweeps.stages.reference import Reference
from sweeps.stages.trial import Trial, answer
from tests.sweeps.test_eager import Told

_ARGUMENTS = {"x": normal(6, 4)}


class Net(torch.nn.Module):
    """A layer, a norm over the batch and a head; `spoil` changes what the head is given."""

    def __init__(self, spoil: Callable[[Tensor], Tensor] = lambda x: x) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.norm, self.head = torch.nn.Linear(4, 5), torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 3)
        self.idle = torch.nn.Linear(2, 2)
        self.dropped = torch.nn.Dropout(0.5)
        self.spoil = spoil

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        found = functional.dropout(self.norm(self.layer(x)), 0.3, self.training)
        return {"logits": self.head(self.spoil(self.dropped(found)))}


class Labelled(Net):
    """With a loss of its own."""

    def forward(self, x: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        found = super().forward(x)
        return found if labels is None else {"loss": functional.cross_entropy(found["logits"], labels), **found}


class Doubled(torch.autograd.Function):
    """Right forward, twice the gradient backward."""

    @staticmethod
    def forward(_context: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(_context: Any, gradient: Tensor) -> Tensor:
        return 2 * gradient


class Later:
    """Right for the first call, off after."""

    def __init__(self, shift: float = 0.2) -> None:
        self.calls, self.shift = 0, shift

    def __call__(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x if self.calls == 1 else x + self.shift


Ended = Callable[..., tuple[Attempt, Trial]]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Ended:
    """Train `model` on the CPU and, where the second is given, another one in its place on the device."""

    def run(model: torch.nn.Module, other: torch.nn.Module | None = None, **told: Any) -> tuple[Attempt, Trial]:
        with torch.no_grad():
            want = answer(model.eval()(**tensors(_ARGUMENTS)))
        reference = Reference(
            model=model, fresh=model, inputs=Inputs(given=_ARGUMENTS, missing=frozenset()), answer=want, draws=False
        )
        monkeypatch.setattr(train, "climb", lambda _trial: reference)
        if other is not None:
            monkeypatch.setattr(moving, "to", lambda *_: ())
            monkeypatch.setattr(train, "still", lambda _fresh: other.train())
        signature = Signature(
            id="s", digest="s", model_type="toy", architecture="Toy", reduced={}, full={}, model="a/b", origin="config"
        )
        trial = Trial(
            signature=signature, dtype=torch.float32, device=Told(**told), facts=Facts(key="k", number=1, level="tiny")
        )
        return train.attempt(trial), trial

    return run


def _training(trial: Trial) -> Any:
    assert trial.facts.train is not None
    return trial.facts.train


def test_training_that_is_right_passes_with_its_curve_gradients_and_statistics(ended: Ended) -> None:
    attempt, trial = ended(Net())
    found = _training(trial)
    assert (attempt.outcome, attempt.ran_on, attempt.stage) == (Outcome.PASS, RanOn.DEVICE, Stage.STEP)
    assert len(found.cpu) == STEPS
    assert found.cpu == found.device
    assert found.cpu[-1] < found.cpu[0]
    assert found.loss == Loss(own=False, outputs=("logits",))
    assert set(found.buffers) == {"norm.running_mean", "norm.running_var", "norm.num_batches_tracked"}
    assert found.gradients == 6 + 3
    assert {"execute", "execute_warm", "compare"} <= attempt.seconds.keys()


def test_parameters_without_gradient_on_both_sides_are_named(ended: Ended) -> None:
    _, trial = ended(Net())
    assert _training(trial).without_gradient == ("idle.weight", "idle.bias")


def test_a_class_that_takes_labels_is_trained_on_its_own_loss(ended: Ended) -> None:
    _, trial = ended(Labelled())
    loss = _training(trial).loss
    assert loss.own
    assert loss.labels["labels"].shape == (6,)
    assert loss.labels["labels"].high == 3


def test_a_gradient_that_is_missing_on_the_device_fails_backward(ended: Ended) -> None:
    attempt, _ = ended(Net(), Net(Tensor.detach))
    assert (attempt.outcome, attempt.stage) == (Outcome.FAIL, Stage.BACKWARD)
    assert "missing on the device" in attempt.message


def test_a_wrong_gradient_fails_backward_though_the_outputs_are_right(ended: Ended) -> None:
    attempt, trial = ended(Net(), Net(Doubled.apply))
    assert (attempt.outcome, attempt.stage) == (Outcome.FAIL, Stage.BACKWARD)
    assert "gradient of" in attempt.message
    assert not any(each.wrong for each in trial.facts.differences)
    # What the head sees is right, and so is its gradient.
    assert {each.name for each in _training(trial).worst if each.wrong} == {
        "gradient of layer.weight", "gradient of norm.weight", "gradient of norm.bias",
    }  # fmt: skip


def test_losses_that_part_after_the_first_step_fail_the_step(ended: Ended) -> None:
    attempt, trial = ended(Net(), Net(Later()))
    assert (attempt.outcome, attempt.stage) == (Outcome.FAIL, Stage.STEP)
    assert "loss curve is wrong" in attempt.message
    assert _training(trial).curve > 1e-4


def test_a_device_is_not_held_to_more_than_the_cpu_rounds(ended: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teacher, "drifts", lambda *_: {"loss curve": 0.02})
    attempt, trial = ended(Net(), Net(Later(0.02)))
    assert attempt.outcome is Outcome.PASS
    assert 1e-4 < _training(trial).curve < 2 * _training(trial).drift == 0.04
    assert "where the CPU is 0.02 off a wider dtype itself" in attempt.message
    attempt, _ = ended(Net(), Net(Later(3.0)))
    assert attempt.outcome is Outcome.FAIL
    monkeypatch.setattr(teacher, "drifts", lambda *_: {"loss curve": 9.0})
    attempt, _ = ended(Net(), Net(Later(3.0)))
    assert (attempt.outcome, attempt.rule) == (Outcome.UNPROVEN, "ill-conditioned")


def test_how_far_the_cpu_is_from_a_wider_dtype_is_measured(ended: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, float]] = []
    measure = teacher.drifts
    monkeypatch.setattr(teacher, "drifts", lambda *given: told.append(measure(*given)) or told[-1])
    ended(Net(), Net(Later()))
    assert {"logits", "training loss", "loss curve", "gradient of layer.weight", "buffer norm.running_mean"} <= set(
        told[0]
    )
    assert 0 < max(told[0][name] for name in ("logits", "gradient of head.weight")) < 1e-5
    assert len(told) == 1


def test_a_model_that_has_no_wider_dtype_is_judged_without(ended: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_given: Any) -> dict[str, float]:
        raise RuntimeError("got Double")

    monkeypatch.setattr(teacher, "_drifts", refused)
    attempt, _ = ended(Net(), Net(Later()))
    assert (attempt.outcome, attempt.stage) == (Outcome.FAIL, Stage.STEP)


def test_wrong_outputs_in_training_fail_the_comparison(ended: Ended) -> None:
    attempt, _ = ended(Net(), Net(lambda x: x + 0.1))
    assert (attempt.outcome, attempt.stage) == (Outcome.FAIL, Stage.COMPARE)


def test_statistics_of_batches_are_compared(ended: Ended) -> None:
    other = Net()
    other.norm.momentum = 0.5
    attempt, _ = ended(Net(), other)
    assert (attempt.outcome, attempt.stage) == (Outcome.FAIL, Stage.BACKWARD)
    assert "buffer norm.running" in attempt.message


def _frozen() -> Net:
    return Net().requires_grad_(False)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Net(lambda x: x / 0), "no output can be differentiated"),
        (Labelled(lambda x: x * 1e38 * 1e38), "not finite"),
        (_frozen(), "no output can be differentiated"),
        (Net(lambda x: x.exp().add_(1)), "modified by an inplace operation"),
    ],
)
def test_what_the_cpu_cannot_train_is_no_question_to_a_device(ended: Ended, model: Net, why: str) -> None:
    attempt, _ = ended(model)
    assert (attempt.outcome, attempt.rule) == (Outcome.INVALID, "cannot-train")
    assert why in attempt.message


def test_ops_of_any_stage_on_the_cpu_make_it_a_fallback(ended: Ended) -> None:
    attempt, _ = ended(Net(), fallback=frozenset({"aten::_foreach_add_"}))
    assert (attempt.outcome, attempt.fallback_ops) == (Outcome.FALLBACK, ("aten::_foreach_add_",))


def test_a_gradient_that_is_zero_but_for_rounding_is_not_compared_by_itself() -> None:
    want = {"a": torch.tensor([1.0]), "b": torch.tensor([1e-9])}
    got = {"a": torch.tensor([1.0]), "b": torch.tensor([-3e-9])}
    found: Mapping[str, Difference] = {each.name: each for each in train.gradients(got, want, 1e-4, 1.2e-7)}
    assert not found["gradient of b"].wrong
    assert found["gradient of b"].worst == train.ROUNDING
    further = train.gradients({**got, "b": torch.tensor([1e-5])}, want, 1e-4, 1.2e-7)
    assert [each.name for each in further if each.wrong] == ["gradient of b"]


def test_shared_parameters_that_moving_takes_apart_are_tied_again() -> None:
    class Split(torch.nn.Module):
        """Moves as a model does to a device whose tensors cannot take the place of the CPU's."""

        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False)
            self.other.weight = self.one.weight

        def to(self, *_args: Any, **_kwargs: Any) -> "Split":
            self.other.weight = torch.nn.Parameter(self.one.weight.detach().clone())
            return self

    model = Split()
    assert moving.to(model, "cpu") == ("other.weight",)
    assert model.other.weight is model.one.weight
