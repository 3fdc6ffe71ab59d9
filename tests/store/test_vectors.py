"""Vectors come back as they were packed, and times lose at most 0.54 %."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.store.vectors import decode_seconds, encode_seconds, pack, spread, unpack


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=50))
def test_a_stored_time_is_at_most_half_a_percent_and_a_bit_off(seconds: list[float]) -> None:
    measured = np.array(seconds)
    off = np.abs(decode_seconds(encode_seconds(measured)) / measured - 1)
    assert off.max() <= 0.00544


def test_no_time_stays_no_time_and_a_very_short_one_stays_one() -> None:
    stored = encode_seconds(np.array([0.0, -1.0, 1e-12]))
    assert stored.tolist() == [0, 0, 1]
    assert decode_seconds(stored).tolist() == [0.0, 0.0, 1e-6]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=50))
def test_a_vector_comes_back_as_it_was_packed(values: list[int]) -> None:
    assert unpack(pack(np.array(values, np.int32)), np.int32).tolist() == values


def test_values_are_spread_to_their_places_and_zero_is_elsewhere() -> None:
    assert spread(np.array([7, 8], np.uint8), np.array([3, 1], np.int32), 5).tolist() == [0, 8, 0, 7, 0]
