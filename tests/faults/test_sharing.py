"""No worker waits while another has much left to do, however wrong the first guess at the tests' durations was."""

from collections import Counter

import msgspec
import pytest

from conformance import journal
from tests.faults.harness import PASS, Lab, many, only


@pytest.mark.slow
def test_slow_tests_that_began_in_one_batch_are_shared_with_a_worker_that_has_nothing(lab: Lab) -> None:
    names = many("slow", 40)
    lab.plan(*names)
    done = lab.run("-n", "2")
    assert done.code == 0, done.err
    assert only(lab.outcomes(), names) == {PASS}
    assert {len(each.attempts) for each in lab.results().values()} == {1}
    begun = Counter[int]()
    for path in lab.folders()[-1].journals.iterdir():
        lines = path.read_bytes().splitlines()
        begun.update(msgspec.json.decode(line, type=journal.Begin).pid for line in lines if b'"begin"' in line)
    # The first took all of them for 0.02 seconds each; alone it would have worked 16 seconds.
    assert len(begun) > 2
    assert max(begun.values()) < 30


@pytest.mark.slow
def test_a_test_that_crashes_after_its_child_was_asked_to_share_costs_one_test(lab: Lab) -> None:
    names = many("slow", 40)
    lab.plan(*names[:25], "segv-0", *names[25:])
    done = lab.run("-n", "2")
    assert done.code == 0, done.err
    assert only(lab.outcomes(), names) == {PASS}
    assert lab.outcomes()["segv-0"] == "crash"
