"""Batches: longest first, smaller towards the end, nothing lost and nothing twice."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.journal import Journal
from conformance.outcomes import TestId
from conformance.plan import PlannedTest
from conformance.progress import Meter
from conformance.record import Attempts
from conformance.supervision.leases import Lease
from conformance.supervision.ledger import Ledger
from conformance.supervision.shards import LONGEST_BATCH, MOST_TESTS, Queue
from conformance.supervision.slots import Slot


def planned(number: int, suite: str = "s", file: str = "f", kind: str = "") -> PlannedTest:
    return PlannedTest(id=TestId(suite=suite, file=file, cls="c", name=f"t{number}", kind=kind), definition="d")


def drain(queue: Queue) -> list[list[str]]:
    batches = []
    while (batch := queue.take()) is not None:
        batches.append([test.key for test in batch.tests])
    return batches


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 100), max_size=200), st.integers(1, 16))
def test_every_test_is_in_exactly_one_batch_in_plan_order(seconds: list[float], workers: int) -> None:
    tests = [planned(number) for number in range(len(seconds))]
    known = {test.key: spent for test, spent in zip(tests, seconds, strict=True)}
    queue = Queue(tests, known, workers)
    batches = drain(queue)
    place = {test.key: number for number, test in enumerate(tests)}
    assert sorted(key for batch in batches for key in batch) == sorted(place)
    assert all(batch == sorted(batch, key=place.__getitem__) for batch in batches)
    assert all(sum(known[key] for key in batch[:-1]) <= LONGEST_BATCH + 100 for batch in batches)
    assert len(queue) == 0
    assert abs(queue.seconds) < 1e-6


def test_the_longest_tests_are_given_out_first() -> None:
    tests = [planned(number) for number in range(300)]
    known = {test.key: 60.0 if number in (150, 299) else 0.1 for number, test in enumerate(tests)}
    first, second = drain(Queue(tests, known, 2))[:2]
    assert first == [tests[150].key]
    assert second == [tests[299].key]


def test_batches_get_smaller_so_that_workers_end_together() -> None:
    tests = [planned(number) for number in range(4_000)]
    sizes = [len(batch) for batch in drain(Queue(tests, {}, 2))]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 4 * sizes[-1]
    assert max(sizes) <= MOST_TESTS


def test_a_suspect_and_what_is_put_back_come_before_the_rest_and_the_spoiled_after_all() -> None:
    tests = [planned(number) for number in range(4)]
    queue = Queue(tests, {}, 1, suspects=lambda key: key == tests[3].key)
    suspect = queue.take()
    assert suspect is not None
    assert (suspect.alone, suspect.tests) == (True, (tests[3],))
    batch = queue.take()
    assert batch is not None
    queue.later(batch.tests[0])
    queue.alone(batch.tests[1])
    queue.give_back(batch.tests[2:])
    assert drain(queue) == [[tests[1].key], [tests[2].key], [tests[0].key]]


def test_a_batch_that_starts_nothing_is_halved() -> None:
    tests = [planned(number) for number in range(5)]
    queue = Queue(tests, {}, 1)
    batch = queue.take()
    assert batch is not None
    queue.halve(batch.tests)
    assert [len(half) for half in drain(queue)] == [2, 3]


def test_a_batch_never_mixes_suites() -> None:
    queue = Queue([planned(1, "a"), planned(1, "b"), planned(2, "a")], {}, 1)
    assert drain(queue) == [["a::f::c::t1", "a::f::c::t2"], ["b::f::c::t1"]]


def test_a_batch_is_of_one_file_and_files_too_small_for_a_child_go_together() -> None:
    tests = [planned(number, file="large") for number in range(1_000)]
    tests += [planned(number, file=f"small{number % 5}") for number in range(20)]
    batches = drain(Queue(tests, dict.fromkeys((test.key for test in tests), 0.1), 2))
    files = [{key.split("::")[1] for key in batch} for batch in batches]
    mixed = [found for found in files if found != {"large"}]
    assert len(mixed) <= 2 < len(files) / 2, files
    assert set.union(*mixed) >= {f"small{number}" for number in range(5)}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 30)), max_size=120), st.integers(1, 4))
def test_nothing_is_lost_among_several_files(found: list[tuple[int, float]], workers: int) -> None:
    tests = [planned(number, suite=f"s{file % 2}", file=f"f{file}") for number, (file, _) in enumerate(found)]
    queue = Queue(tests, {test.key: spent for test, (_, spent) in zip(tests, found, strict=True)}, workers)
    batches = drain(queue)
    assert sorted(key for batch in batches for key in batch) == sorted(test.key for test in tests)
    assert all(len({key.split("::")[0] for key in batch}) == 1 for batch in batches)
    assert abs(queue.seconds) < 1e-6


def test_a_test_without_a_duration_is_taken_to_last_as_long_as_its_kin() -> None:
    tests = [planned(1, kind="slow"), planned(2, kind="slow"), planned(3, kind="quick"), planned(4, kind="new")]
    queue = Queue(tests, {tests[0].key: 9.0, tests[2].key: 1.0}, 1)
    assert [queue.seconds_of(test.key) for test in tests] == [9.0, 9.0, 1.0, 5.0]


def test_what_was_learned_of_tests_cuts_finer_batches_and_never_replaces_a_measurement() -> None:
    tests = [planned(number) for number in range(100)]
    queue = Queue(tests, {tests[0].key: 0.02}, 2)
    batch = queue.take()
    assert batch is not None
    assert len(batch.tests) == 100
    queue.learn(batch.tests, 2.0)
    queue.give_back(batch.tests)
    assert queue.seconds_of(tests[0].key) == 0.02
    assert max(len(each) for each in drain(queue)) <= 31


def test_seconds_that_were_learned_are_counted_apart_and_all_are_given_out_in_the_end() -> None:
    tests = [planned(number) for number in range(10)]
    queue = Queue(tests, {}, 2)
    batch = queue.take()
    assert batch is not None
    queue.learn(batch.tests, 2.0)
    queue.learn(batch.tests, 3.0)
    queue.give_back(batch.tests)
    assert (queue.paced, round(queue.guessed, 6)) == (30.0, 0.2)
    drain(queue)
    assert (abs(queue.paced), abs(queue.seconds)) < (1e-9, 1e-9)


def test_what_is_left_of_learned_tests_is_divided_by_the_workers_whatever_was_guessed_before(tmp_path: Path) -> None:
    tests = [planned(number) for number in range(100)]
    queue = Queue(tests, {}, 2)
    with Journal(tmp_path / "journal") as own:
        meter = Meter(
            Ledger(tests, Attempts(), own),
            queue,
            [Slot(lease=Lease(core=each, lock=-1)) for each in range(2)],
            started=0.0,
        )
    batch = queue.take()
    assert batch is not None
    assert len(batch.tests) == 100
    # Ten of them took 280 seconds, and the other ninety are expected to take 2 each.
    queue.learn(batch.tests[10:], 2.0)
    queue.give_back(batch.tests[10:])
    estimate = meter.estimate(280.0)
    assert estimate is not None
    assert abs(estimate - 90.0) < 1e-6
