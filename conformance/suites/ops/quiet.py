"""What is switched off in a process while it runs the suite: noise, and work for accelerators that are not there."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch


@contextmanager
def quiet() -> Iterator[None]:
    """Keep warnings and dynamo's log from flooding, and torch.manual_seed from queueing work for absent devices."""
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(_only_errors("torch._dynamo"))
        for module in (torch.cuda, torch.xpu, torch.mtia):
            if not module.is_available():
                stack.enter_context(_unseeded(module))
        yield


@contextmanager
def _only_errors(name: str) -> Iterator[None]:
    """dynamo logs every graph break; that one happened is seen by counting nodes."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _unseeded(module: Any) -> Iterator[None]:
    """Seeding an accelerator that is not there formats the call stack each time, a tenth of the time of many tests."""
    before = module.manual_seed_all
    module.manual_seed_all = _nothing
    try:
        yield
    finally:
        module.manual_seed_all = before


def _nothing(_seed: int) -> None:
    """Seeds nothing."""
