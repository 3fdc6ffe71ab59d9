"""Whether a test asked dynamo to compile and nothing was compiled: every frame broke and ran eagerly."""

import sys
from typing import Any


class Graphs:
    """Dynamo's own counters at the beginning of a test. Costs nothing while dynamo is not imported."""

    def __init__(self) -> None:
        self._frames, self._made = _counts()

    def asked(self) -> bool:
        """Whether dynamo looked at a frame since, and made no graph of any."""
        frames, made = _counts()
        new_frames = frames - self._frames if frames >= self._frames else frames
        new_graphs = made - self._made if made >= self._made else made
        return new_frames > 0 and new_graphs == 0


def _counts() -> tuple[int, int]:
    known: Any = sys.modules.get("torch._dynamo.utils")
    counters = getattr(known, "counters", None)
    if not counters:
        return 0, 0
    return counters["frames"]["total"], counters["stats"]["unique_graphs"]
