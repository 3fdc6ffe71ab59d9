"""The calls of complete models, from the meta device: widths, depths and vocabularies as they are, without memory."""

import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import torch

from sweeps import building, meta
from sweeps.calls.files import FULL, Writer
from sweeps.calls.recording import Counted
from sweeps.configs import sentence
from sweeps.inputs import found
from sweeps.inputs.filling import Given, tensors
from sweeps.reduce import WHOLE, reduce
from sweeps.signature import Signature
from sweeps.stages.trial import on
from sweeps.watching import Watched

SECONDS: Final = 60.0
"""Longest that one complete model may take: building its modules and calling each op takes time without arithmetic."""


class TooLongError(BaseException):
    """A complete model took longer than it was given.

    No Exception: what a model raises makes the search for its inputs go on with others.
    """


def calls(of: Signature, dtype: torch.dtype, seconds: float = SECONDS) -> dict[str, Counted]:
    """The calls of the complete configuration that goes with a signature, without bounds of values.

    Raises TooLongError, or whatever the model or the meta device raises.
    """
    with _at_most(seconds), meta.entered(), torch.no_grad():
        with torch.device("meta"):
            model = building.model(of.of, reduce(of.full, WHOLE), most=None).to(dtype)
        seen = Watched(bounded=False)

        def run(given: Given) -> Any:
            made = {name: on(each, "cpu", dtype) for name, each in tensors(given).items()}
            placed = meta.given(made)
            seen.clear()
            with seen:
                return model(**placed)

        found(model, run)
    return seen.calls.calls()


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise TooLongError in the main thread when the time is over."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TooLongError(f"it took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def record(
    chosen: Iterable[tuple[Signature, str]], folder: Path, seconds: float = SECONDS
) -> Iterator[tuple[Signature, str]]:  # fmt: skip
    """Write the calls of complete models, or why there are none; yields each signature with that reason, or ""."""
    writer = Writer(path=folder / FULL)
    for signature, dtype in chosen:
        made, why = _made(signature, dtype, seconds)
        writer.add(signature.id, dtype, WHOLE.name, made, why)
        yield signature, why


def _made(signature: Signature, dtype: str, seconds: float) -> tuple[Mapping[str, Counted], str]:
    try:
        return calls(signature, getattr(torch, dtype), seconds), ""
    except TooLongError as error:
        return {}, str(error)
    except Exception as error:
        return {}, sentence(error)[:500]
