"""What an attempt at a case came to, part by part: one line each beside the run's plan."""

import os
from pathlib import Path

import msgspec

from sweeps import lines
from sweeps.flex.comparing import Difference


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the parts of a case: `mask`, `eager`, `compiled`.

    `outcome` is the word for this part alone, `stage` where it ended. `nodes` are those of the graphs that were
    compiled, `compile_seconds` what the backend says that took, `warm` that all of them were found in its cache.
    """

    name: str
    outcome: str
    stage: str
    rule: str = ""
    ran_on: str = ""
    message: str = ""
    cause: str = ""
    code: str = ""
    detail: str = ""
    executed: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    graphs: int = 0
    nodes: int = 0
    compile_seconds: float = 0.0
    warm: bool = False


class Facts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of `flex_attention/facts-*.jsonl`. `compile_limit` in seconds, `allowed` as in Difference.row.

    An attempt has a line when it is about to be compiled and another in the end, which holds where it is there.

    `extended`: the list of devices was extended. `seconds` are by phase.
    """

    key: str
    number: int
    compile_limit: float
    allowed: float
    extended: bool
    parts: list[Part] = []
    seconds: dict[str, float] = {}


def append(folder: Path, facts: Facts) -> None:
    """Add a line to this process's file."""
    lines.append(folder / f"facts-{os.getpid()}.jsonl", msgspec.json.encode(facts) + b"\n")
