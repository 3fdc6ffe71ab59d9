"""Cores are leased to one run at a time."""

from pathlib import Path

import pytest

from conformance.errors import IncompleteError, UsageError
from conformance.supervision import leases
from conformance.supervision.leases import NUM_CORES, RESET_CORES, VISIBLE_CORES


def test_two_runs_get_different_cores_and_a_released_one_is_leased_again(tmp_path: Path) -> None:
    first = leases.acquire(tmp_path, 2, range(9))
    second = leases.acquire(tmp_path, 2, range(9))
    assert [each.core for each in (*first, *second)] == [0, 1, 2, 3]
    first[1].release()
    third = leases.acquire(tmp_path, 1, range(9))
    assert [each.core for each in third] == [1]
    for each in (first[0], *second, *third):
        each.release()


def test_a_child_sees_its_core_alone_and_a_sick_one_is_reset(tmp_path: Path) -> None:
    (lease,) = leases.acquire(tmp_path, 1, range(9))
    assert lease.variables(reset=False) == {VISIBLE_CORES: "0"}
    assert lease.variables(reset=True) == {VISIBLE_CORES: "0", RESET_CORES: "1"}
    lease.release()


def test_only_cores_that_the_user_left_visible_are_leased(tmp_path: Path) -> None:
    assert list(leases.allowed({VISIBLE_CORES: "4-6,9"})) == [4, 5, 6, 9]
    assert list(leases.allowed({NUM_CORES: "2"})) == [0, 1]
    assert len(leases.allowed({NUM_CORES: "0"})) == len(leases.allowed({})) == leases.MOST_CORES
    held = leases.acquire(tmp_path, 8, [4, 5])
    assert [each.core for each in held] == [4, 5]
    with pytest.raises(IncompleteError, match="every core is leased"):
        leases.acquire(tmp_path, 1, [4, 5])
    for each in held:
        each.release()


def test_a_broken_list_of_cores_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="NEURON_RT_VISIBLE_CORES is '0-x'"):
        leases.allowed({VISIBLE_CORES: "0-x"})
