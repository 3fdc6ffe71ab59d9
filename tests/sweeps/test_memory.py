"""The bound on what a stage of a model may add to its process."""

import os

import pytest
import torch

from conformance.errors import UsageError
from conformance.outcomes import Outcome, Stage
from sweeps import memory
from sweeps.facts import Facts
from sweeps.signature import Signature
from sweeps.stages import judging
from sweeps.stages.trial import OutOfMemoryError, Trial
from tests.sweeps.test_eager import Told


def _trial() -> Trial:
    signature = Signature(
        id="s", digest="s", model_type="toy", architecture="Toy", reduced={}, full={}, model="a/b", origin="config"
    )
    return Trial(signature=signature, dtype=torch.float32, device=Told(), facts=Facts(key="k", number=1))


def test_a_stage_that_asks_for_more_is_named_with_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "0.25")
    trial = _trial()
    with pytest.raises(OutOfMemoryError) as raised, trial.at(Stage.FORWARD):
        torch.zeros(1 << 28)
    attempt = judging.failed(trial, raised.value)
    assert (attempt.outcome, attempt.rule, attempt.stage) == (Outcome.ERROR, "memory-limit", Stage.FORWARD)
    assert attempt.message == "stage forward needs more than 0.25 GiB (CONFORMANCE_STAGE_MEMORY)"


def test_the_bound_ends_with_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "0.25")
    with _trial().at(Stage.FORWARD):
        torch.zeros(1 << 20)
    assert torch.zeros(1 << 28).numel() == 1 << 28


def test_other_exceptions_stay_what_they_are() -> None:
    with pytest.raises(ZeroDivisionError), _trial().at(Stage.FORWARD):
        _ = 1 / 0


@pytest.mark.parametrize("given", ["-1", "much", "inf", "nan"])
def test_a_bound_that_is_no_number_of_gigabytes_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv(memory.VARIABLE, given)
    with pytest.raises(UsageError, match="give GiB"):
        memory.allowed()


def test_no_bound_is_asked_for_by_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, memory.VARIABLE, "0")
    with memory.bounded():
        assert torch.zeros(1 << 27).numel() == 1 << 27
