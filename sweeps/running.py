"""Running planned models one after another, each to exactly one attempt."""

import gc
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

import torch

from conformance import classify
from conformance.outcomes import Attempt
from conformance.plan import PlannedTest
from conformance.suites import Bench
from sweeps import facts, signature
from sweeps.calls import files
from sweeps.calls.recording import Recorder
from sweeps.facts import Facts
from sweeps.signature import Signature
from sweeps.stages import eager, train
from sweeps.stages.trial import Trial

NOT_PREPARED: Final = "models:not-prepared"
"""Rule of models whose trial could not be set up."""

_MODES = {"eager": eager.attempt, "train": train.attempt}


def run(tests: Sequence[PlannedTest], bench: Bench) -> None:
    """Run the tests in order and journal each. Only what is meant to end the process leaves this function."""
    with quiet():
        for test in tests:
            number = bench.number(test.key)
            bench.journal.begin(test.key, number)
            bench.journal.end(test.key, _attempted(test, bench, number), number)
            gc.collect()


def _attempted(test: PlannedTest, bench: Bench, number: int) -> Attempt:
    try:
        started = trial(test, bench, Facts(key=test.key, number=number))
        made = _MODES[test.id.kind](started)
        facts.append(Path(test.where).parent, started.facts)
    except Exception as error:
        return classify.not_prepared(error, NOT_PREPARED)
    return classify.apply_expected(made, test.expected)


def trial(test: PlannedTest, bench: Bench, made: Facts) -> Trial:
    """The trial of a planned test, its stages journalled. Raises UsageError without the run's signatures."""
    return Trial(
        signature=_signatures(test.where)[test.id.name.partition("_")[0]], dtype=getattr(torch, test.id.dtype),
        device=bench.device, facts=made, enter=lambda stage: bench.journal.stage(test.key, stage),
        record=partial(_record, test),
    )  # fmt: skip


def _record(test: PlannedTest, level: str, seen: Recorder) -> None:
    signature = test.id.name.partition("_")[0]
    files.append(Path(test.where).parent, signature, test.id.dtype, level, seen.calls())


@lru_cache(maxsize=2)
def _signatures(path: str) -> dict[str, Signature]:
    return {each.id: each for each in signature.read(Path(path))}


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the libraries' warnings and advice from flooding; errors are exceptions and stay."""
    noisy = [logging.getLogger(name) for name in ("transformers", "huggingface_hub", "torch._dynamo")]
    before = [each.level for each in noisy]
    for each in noisy:
        each.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for each, level in zip(noisy, before, strict=True):
            each.setLevel(level)
