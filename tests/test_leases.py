"""Cores are leased to one run at a time."""

from pathlib import Path

from conformance import leases
from conformance.leases import RESET_CORES, VISIBLE_CORES


def test_two_runs_get_different_cores_and_a_released_one_is_leased_again(tmp_path: Path) -> None:
    first = leases.acquire(tmp_path, 2)
    second = leases.acquire(tmp_path, 2)
    assert [each.core for each in (*first, *second)] == [0, 1, 2, 3]
    first[1].release()
    third = leases.acquire(tmp_path, 1)
    assert [each.core for each in third] == [1]
    for each in (first[0], *second, *third):
        each.release()


def test_a_child_sees_its_core_alone_and_a_sick_one_is_reset(tmp_path: Path) -> None:
    (lease,) = leases.acquire(tmp_path, 1)
    assert lease.variables(reset=False) == {VISIBLE_CORES: "0"}
    assert lease.variables(reset=True) == {VISIBLE_CORES: "0", RESET_CORES: "1"}
    lease.release()
