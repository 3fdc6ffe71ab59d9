"""What an eager run of a model ends as, on a device that reports what the test tells it to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from conformance.outcomes import Attempt, Outcome, RanOn, Reached
from conformance.targets import Compiled
from sweeps.facts import Facts
from sweeps.inputs import Inputs
from sweeps.inputs.filling import normal, tensors
from sweeps.signature import Signature
from sweeps.stages import eager
from sweeps.stages.reference import Reference
from sweeps.stages.trial import Trial, answer

_ARGUMENTS = {"x": normal(2, 4)}


@dataclass(kw_only=True)
class Told:
    """The CPU as a device whose trackers say what they are told."""

    executed: frozenset[str] = frozenset({"aten::addmm"})
    fallback: frozenset[str] = frozenset()
    device: str = "cpu"
    compile_backend: str = "eager"
    tracks: bool = True
    order: list[str] = field(default_factory=list)

    def clear(self) -> None:
        self.order.append("clear")

    def synchronize(self) -> None:
        self.order.append("synchronize")

    def executed_ops(self) -> frozenset[str]:
        return self.executed

    def fallback_ops(self) -> frozenset[str]:
        return self.fallback

    def reached(self) -> Reached:
        self.order.append("read")
        return Reached(executed=self.executed, fallback=self.fallback)

    def compiled(self) -> tuple[Compiled, ...]:
        return ()

    def probe(self) -> str | None:
        return None

    def environment(self) -> Mapping[str, str]:
        return {}


class Toy(torch.nn.Module):
    """A linear layer, off by `shift` in one element, drawing numbers if asked."""

    def __init__(self, shift: float = 0.0, draws: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.shift, self.draws = torch.nn.Linear(4, 3), shift, draws

    def forward(self, x: Tensor) -> dict[str, Any]:
        found = self.layer(x)
        found = found + torch.rand_like(found) if self.draws else found
        wrong = torch.zeros_like(found)
        wrong[1, 2] = self.shift
        return {"logits": found + wrong, "cache": [found.argmax(-1)]}


Ended = Callable[..., tuple[Attempt, Trial]]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Ended:
    """Run a toy on the CPU and another one, in its place, on the device."""

    def run(device: Told, fresh: Toy, *, draws: bool = False, missing: tuple[str, ...] = ()) -> tuple[Attempt, Trial]:
        model = Toy(draws=draws)
        torch.manual_seed(0)
        with torch.no_grad():
            want = answer(model(**tensors(_ARGUMENTS)))
        inputs = Inputs(given=_ARGUMENTS, missing=frozenset(missing))
        reference = Reference(model=model, fresh=fresh, inputs=inputs, answer=want, draws=draws)
        monkeypatch.setattr(eager, "climb", lambda _trial: reference)
        signature = Signature(
            id="s", digest="s", model_type="toy", architecture="Toy", reduced={}, full={}, model="a/b", origin="config"
        )
        facts = Facts(key="k", number=1, level="tiny", missing=missing)
        trial = Trial(signature=signature, dtype=torch.float32, device=device, facts=facts)
        return eager.attempt(trial), trial

    return run


def test_a_right_answer_with_work_on_the_device_passes(ended: Ended) -> None:
    device = Told()
    attempt, trial = ended(device, Toy())
    assert (attempt.outcome, attempt.ran_on) == (Outcome.PASS, RanOn.DEVICE)
    assert [each.name for each in trial.facts.differences] == ["logits", "cache[0]"]
    assert device.order[-3:] == ["clear", "synchronize", "read"]


def test_ops_on_the_cpu_make_it_a_fallback_and_are_kept(ended: Ended) -> None:
    attempt, _ = ended(Told(fallback=frozenset({"aten::topk"})), Toy())
    assert (attempt.outcome, attempt.fallback_ops) == (Outcome.FALLBACK, ("aten::topk",))


@pytest.mark.parametrize("fallback", [frozenset(), frozenset({"aten::topk"})])
def test_a_part_of_the_inputs_proves_nothing_wherever_it_ran(ended: Ended, fallback: frozenset[str]) -> None:
    attempt, _ = ended(Told(fallback=fallback), Toy(), missing=("image",))
    assert (attempt.outcome, attempt.rule) == (Outcome.UNPROVEN, "partial-inputs")
    assert "without its inputs for image" in attempt.message


def test_one_wrong_element_fails_with_both_values_and_its_place(ended: Ended) -> None:
    attempt, trial = ended(Told(), Toy(shift=0.5))
    assert attempt.outcome is Outcome.FAIL
    assert "logits is wrong" in attempt.message
    assert "[1, 2]" in attempt.message
    assert trial.facts.differences[0].relative > 1e-2


def test_a_model_that_draws_is_neither_right_nor_wrong(ended: Ended) -> None:
    attempt, _ = ended(Told(), Toy(draws=True, shift=0.3), draws=True)
    assert (attempt.outcome, attempt.rule) == (Outcome.UNPROVEN, "draws-numbers")


def test_a_wrong_answer_of_a_model_that_only_seems_to_draw_fails(ended: Ended) -> None:
    attempt, _ = ended(Told(), Toy(shift=0.3), draws=False)
    assert attempt.outcome is Outcome.FAIL


def test_nothing_executed_is_no_pass(ended: Ended) -> None:
    attempt, _ = ended(Told(executed=frozenset()), Toy())
    assert (attempt.outcome, attempt.rule) == (Outcome.UNPROVEN, "nothing-executed")


def test_a_model_that_stays_on_the_cpu_is_no_pass(ended: Ended) -> None:
    class Elsewhere(Told):
        """Claims to be another device than the one that the model is moved to."""

    device = Elsewhere(device="meta")
    model = Toy()
    model.to = lambda *_args, **_kwargs: model  # type: ignore[method-assign,assignment]
    attempt, trial = ended(device, model)
    assert attempt.outcome in (Outcome.UNPROVEN, Outcome.ERROR)
    assert "is on cpu" in trial.off_device


def test_what_the_device_raises_is_the_outcome(ended: Ended) -> None:
    model = Toy()
    model.layer = torch.nn.Linear(5, 3)
    attempt, _ = ended(Told(), model)
    assert (attempt.outcome, attempt.rule) == (Outcome.ERROR, "exception")
    assert "mat1 and mat2" in attempt.message
