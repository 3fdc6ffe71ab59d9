"""Child processes from a fork server that has imported torch and loaded the device's library, as a run has them."""

import multiprocessing
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["torch", "torch._dynamo", "tests.simulator.preload"])


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a child ended: its exit code (negative: the signal) and what its function returned or raised."""

    code: int | None
    answer: Any


def run(function: Callable[[], Any], variables: Mapping[str, str], seconds: float = 60) -> Ended:
    """Call a module-level function in a child with these variables set; killed after so many seconds."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    child = CONTEXT.Process(target=_main, args=(function, dict(variables), theirs))
    child.start()
    theirs.close()
    child.join(seconds)
    if child.is_alive():
        child.kill()
        child.join()
        return Ended(code=child.exitcode, answer="still running")
    try:
        answer = ours.recv()
    except EOFError:
        answer = None
    return Ended(code=child.exitcode, answer=answer)


def _main(function: Callable[[], Any], variables: Mapping[str, str], pipe: Connection) -> None:
    os.environ.update(variables)
    import torch

    torch.set_num_threads(1)
    try:
        answer = function()
    except Exception as error:  # handed to the test, which expects it
        answer = f"{type(error).__name__}: {error}"
    pipe.send(answer)
