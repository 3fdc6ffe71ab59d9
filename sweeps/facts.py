"""What an attempt at a model came to in numbers: one line each beside the run's plan, for reports and repetition."""

import os
from pathlib import Path
from typing import Any

import msgspec

from sweeps.floats import encoded
from sweeps.inputs.filling import Filling
from sweeps.outputs import Difference


class Facts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of `models/facts-*.jsonl` in a run's folder.

    `level` is the step of the ladder that was built, with its `config` and the `inputs` that it was given; `tried` says
    why earlier steps were left. `missing` are modalities left out because the model `refused` its inputs. `seconds`
    are by stage, `memory` in bytes: of the parameters, and the most that the process held. `ops` are the aten ops of
    the CPU's run, `discrete` and `constant` what weakens a comparison.
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


def append(folder: Path, facts: Facts) -> None:
    """Add a line to this process's file; one write, so that a killed process leaves at most a torn last line."""
    line = msgspec.json.encode(msgspec.structs.replace(facts, config=encoded(facts.config))) + b"\n"
    handle = os.open(
        folder / f"facts-{os.getpid()}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644
    )
    try:
        os.write(handle, line)
    finally:
        os.close(handle)
