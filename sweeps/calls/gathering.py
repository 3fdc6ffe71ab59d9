"""Where calls come from: what an earlier run of models recorded, or references that are run while planning."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

import torch

from conformance.errors import UsageError
from conformance.plan import DEFAULT_DTYPES, MODELS, Selection
from conformance.suites.collected import TOLD
from sweeps import catalogue, planning
from sweeps.calls import files
from sweeps.calls.files import Calls
from sweeps.facts import Facts
from sweeps.signature import Signature
from sweeps.stages.reference import UnusableError, climb
from sweeps.stages.trial import Trial

BETWEEN: Final = 5.0
"""Seconds between two lines about how far it is."""


def of_run(run: Path, folder: Path) -> Calls:
    """What a run recorded, by suite `models` or `model_ops`, copied to `folder`. Raises UsageError without calls."""
    for suite in (MODELS, folder.name):
        found = sorted((run / suite).glob(files.PATTERN))
        if found:
            for each in found:
                (folder / each.name).write_bytes(each.read_bytes())
            return files.read(folder)
    raise UsageError(
        f"--calls {str(run)!r} names a run without recorded calls: name one of suite models, or leave --calls out"
    )


def of_catalogue(selection: Selection, folder: Path) -> Calls:
    """The calls of a catalogue's models: each signature is built and run once on the CPU, as suite models does."""
    gathered = planning.gather(Path(selection.catalogue) if selection.catalogue else catalogue.SHIPPED)
    every = selection.profile == "full" or bool(selection.catalogue)
    chosen = list(gathered.signatures.values()) if every else gathered.most_downloaded(planning.MOST_ARCHITECTURES)
    planning.keep(gathered, folder)
    record(chosen, selection.dtypes or DEFAULT_DTYPES, folder)
    return files.read(folder)


def record(chosen: Sequence[Signature], dtypes: Sequence[str], folder: Path) -> None:
    """Run the references of some signatures on the CPU and write their calls."""
    said, number, whole = time.monotonic(), 0, len(chosen) * len(dtypes)
    for dtype in dtypes:
        for each in chosen:
            _record(each, dtype, folder)
            number += 1
            if time.monotonic() - said > BETWEEN:
                said = time.monotonic()
                print(f"{TOLD}{number} of {whole} models' calls", flush=True)


def _record(found: Signature, dtype: str, folder: Path) -> None:
    trial = Trial(
        signature=found, dtype=getattr(torch, dtype), device=cast(Any, None), facts=Facts(key=found.id, number=1),
        record=lambda level, seen: files.append(folder, found.id, dtype, level, seen.calls()),
    )  # fmt: skip
    try:
        climb(trial)
    except UnusableError as error:
        files.append(folder, found.id, dtype, "", {}, why=str(error)[:500])
    except Exception as error:
        # As in a run: a fault of ours is charged to the model that shows it, and the others go on.
        files.append(folder, found.id, dtype, "", {}, why=f"{type(error).__name__}: {error}"[:500])
