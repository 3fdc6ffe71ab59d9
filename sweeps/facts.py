"""What an attempt at a model came to in numbers: one line each beside the run's plan, for reports and repetition."""

import math
import os
from pathlib import Path
from typing import Any

import msgspec

from sweeps import lines
from sweeps.floats import encoded
from sweeps.inputs.filling import Filling
from sweeps.outputs import Difference
from sweeps.stages.dynamo import CompiledFacts
from sweeps.stages.losses import Loss


class Training(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What mode `train` adds. `cpu` and `device` are the losses of each step, None for what is no number, `curve` their
    relative L2 distance; one that is left out is infinite. `drift` is how far the CPU is from a wider dtype in what was
    farther off than allowed and is right for that reason;
    `unsteady` is what the CPU's own rounding decides.

    `refused` is what the model said to the first labels, where it did not take any. `gradients` counts those of the
    first step, `gradient` is the largest distance of one, but for `roundings` of them, which are zero but for rounding;
    the worst ones are kept in `worst`. `without_gradient` names parameters that get none on either side, `buffers`
    those that the first step changed on the CPU.
    """

    optimizer: dict[str, Any]
    steps: int
    loss: Loss | None = None
    refused: str = ""
    cpu: list[float | None] = []
    device: list[float | None] = []
    curve: float = math.inf
    allowed_curve: float = 0.0
    drift: float = 0.0
    unsteady: tuple[str, ...] = ()
    gradients: int = 0
    gradient: float = math.inf
    roundings: int = 0
    allowed_gradient: float = 0.0
    worst: list[Difference] = []
    without_gradient: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()


class Facts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of `models/facts-*.jsonl` in a run's folder.

    `level` is the step of the ladder that was built, with its `config` and the `inputs` that it was given; `tried` says
    why earlier steps were left. `missing` are modalities left out because the model `refused` its inputs. `seconds`
    are by stage, `memory` in bytes: of the parameters, and the most that the process held. `ops` are the aten ops of
    the CPU's run, `discrete` and `constant` what weakens a comparison. `untied` are
    shared parameters that moving took apart and that were put together again. `train` and
    `compiled` are of those modes.
    """

    key: str
    number: int
    level: str = ""
    tried: dict[str, str] = {}
    config: dict[str, Any] = {}
    inputs: dict[str, Filling] = {}
    missing: tuple[str, ...] = ()
    refused: str = ""
    elements: int = 0
    seconds: dict[str, float] = {}
    memory: dict[str, int] = {}
    ops: tuple[str, ...] = ()
    discrete: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    allowed: float = 0.0
    differences: list[Difference] = []
    untied: tuple[str, ...] = ()
    train: Training | None = None
    compiled: CompiledFacts | None = None


def append(folder: Path, facts: Facts) -> None:
    """Add a line to this process's file."""
    line = msgspec.json.encode(msgspec.structs.replace(facts, config=encoded(facts.config))) + b"\n"
    lines.append(folder / f"facts-{os.getpid()}.jsonl", line)
