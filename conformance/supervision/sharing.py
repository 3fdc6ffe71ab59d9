"""Towards the end of a run: a child with much left to do gives up the rest of its batch to workers that have nothing.

How long tests take is not known before their first run, and those of one kind, which are alike, stand together.
"""

from collections.abc import Sequence
from typing import Final

from conformance.supervision.jobs import SHARE
from conformance.supervision.shards import Queue
from conformance.supervision.slots import Slot

WORTH: Final = 8.0
"""Seconds of work left that are worth another child: one of a large upstream file takes 3 to 5 until its first test."""


def ask(slots: Sequence[Slot], queue: Queue, now: float) -> None:
    """Ask the child with most work left to end after its present test, if a worker waits and that is worth while.

    One at a time: what it gives back is enough for all.
    """
    if len(queue) or not any(_idle(slot, now) for slot in slots) or any(slot.asked_to_share for slot in slots):
        return
    busiest = max(slots, key=lambda slot: _left(slot, now))
    if _left(busiest, now) > WORTH and busiest.child is not None:
        busiest.child.signal(SHARE)
        busiest.asked_to_share = True


def _idle(slot: Slot, now: float) -> bool:
    return not (slot.lost or slot.busy) and now >= slot.rest_until


def _left(slot: Slot, now: float) -> float:
    """Seconds of work that a child could give up, going by the pace of its tests; 0 when it is not to be asked."""
    if slot.batch is None or slot.watch is None or slot.kill is not None or slot.suspect is not None:
        return 0.0
    # Before that the child does not know the signal.
    if slot.batch.alone or not slot.watch.ready:
        return 0.0
    return (len(slot.batch.tests) - len(slot.watch.ended) - 1) * slot.watch.pace(now)
