"""Imported by the fork server alone: compiles one trivial graph on the CPU, before it forks a child that compiles.

Dynamo imports some 400 modules when it compiles for the first time, which takes about a second; a child would pay for
it after every batch. No device is started, and no thread: what is compiled is thrown away.
"""

import torch

from conformance.suites.ops.quiet import quiet


def _one_more(value: torch.Tensor) -> torch.Tensor:
    return value + 1


with quiet():
    torch.compile(_one_more, backend="aot_eager", dynamic=False)(torch.ones(2))
    torch._dynamo.reset()
