"""One value a test, by the test's number: how vectors are packed, and how times become 16 bits.

A test's number is its index in every vector of every run. Zero always means "nothing here".
"""

import zlib
from collections.abc import Mapping
from typing import Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from conformance.outcomes import FLAKY, Outcome, Phase, RanOn, Stage

Vector: TypeAlias = NDArray[np.generic]
T = TypeVar("T", bound=np.generic)

STEPS: Final = 64
"""Steps an octave of the stored times: at most 0.54 % off (half a step, 2 ** (1 / 128))."""

SHORTEST: Final = 1e-6
"""Seconds of the stored time 1; anything above zero and shorter is stored as this."""

RAN_ON: Final = ("", *(each.value for each in RanOn))
STAGES: Final = ("", *(each.value for each in Stage))
PHRASES: Final = ("rule", "cause", "code", "message", "fallback", "source", "leaked", "reused")
"""Side columns whose values are numbers of phrases."""

ATTEMPT_PHRASES: Final = PHRASES[:5]
"""Those that a kept attempt has of its own; the others are kept with the outcome alone."""

SIDES: Final[Mapping[str, type[np.generic]]] = {
    **dict.fromkeys(PHRASES, np.int32),
    "ran_on": np.uint8,
    "stage": np.uint8,
    "attempts": np.uint8,
    "order_dependent": np.uint8,
    "probed": np.uint8,
    **{f"seconds.{each.value}": np.uint16 for each in Phase},
}
"""Every packed column of a run beside its status and definition vectors."""


def encode_seconds(seconds: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Seconds as log2 x 64 above a microsecond; zero and less are 0, "not measured"."""
    measured = seconds > 0
    steps = np.log2(np.maximum(seconds, SHORTEST) / SHORTEST) * STEPS
    return np.where(measured, np.clip(np.rint(steps), 0, 65_534) + 1, 0).astype(np.uint16)


def decode_seconds(stored: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Seconds again; 0.0 where nothing was measured."""
    return np.where(stored == 0, 0.0, SHORTEST * np.exp2((stored.astype(np.float64) - 1) / STEPS))


def pack(vector: Vector) -> bytes:
    """Little-endian and deflated."""
    return zlib.compress(vector.astype(vector.dtype.newbyteorder("<"), copy=False).tobytes(), 1)


def unpack(packed: bytes, kind: type[np.generic]) -> Vector:
    """The inverse of `pack`."""
    return np.frombuffer(zlib.decompress(packed), np.dtype(kind).newbyteorder("<"))


def spread(values: NDArray[T], places: NDArray[np.int32], size: int) -> NDArray[T]:
    """A vector of `size` with `values` at `places` and zero elsewhere."""
    vector = np.zeros(size, values.dtype)
    vector[places] = values
    return vector


def counts(status: NDArray[np.uint8]) -> dict[Outcome, int]:
    """How many tests of a status vector ended as each outcome; those not planned are left out."""
    found = np.bincount(status & ~np.uint8(FLAKY), minlength=64)
    return {each: int(found[each]) for each in Outcome if found[each]}


def flaky(status: NDArray[np.uint8]) -> int:
    """How many tests of a status vector had attempts that disagreed."""
    return int(np.count_nonzero(status & FLAKY))
