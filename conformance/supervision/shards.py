"""What to run next: batches of tests, longest first, small towards the end so that no core waits for another.

A batch is of one file as long as that file has enough for it: each file that a child runs has to be imported there.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.plan import PlannedTest

UNKNOWN_SECONDS: Final = 0.02
"""Taken for a test as long as no duration at all is known."""
LONGEST_BATCH: Final = 60.0
"""Seconds of expected work in a batch. A child costs about 0.3 s (measured: fork 0.15, simulated device 0.17)."""
SHORTEST_BATCH: Final = 4.0
MOST_TESTS: Final = 4_000
"""Bounds what a child may come to hold in memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Tests of one suite for one child, in plan order; `alone` when one suspect runs by itself."""

    suite: str
    tests: tuple[PlannedTest, ...]
    alone: bool = False


class Queue:
    """Tests that wait for a child. A test is in it once or not at all; `suspects` are those to run alone."""

    def __init__(
        self,
        tests: Iterable[PlannedTest],
        durations: Mapping[str, float],
        workers: int,
        suspects: Callable[[str], bool] = lambda _key: False,
    ) -> None:
        planned = list(tests)
        self._place = {test.key: place for place, test in enumerate(planned)}
        self._seconds = _estimates(planned, durations)
        self._measured = durations.keys()
        self._workers = workers
        self._alone: deque[PlannedTest] = deque()
        self._later: deque[PlannedTest] = deque()
        self._halves: deque[tuple[PlannedTest, ...]] = deque()
        self._files: dict[tuple[str, str], deque[PlannedTest]] = {}
        self._left: dict[tuple[str, str], float] = {}
        for test in sorted(planned, key=lambda each: -self._seconds[each.key]):
            waiting = self._alone if suspects(test.key) else self._files.setdefault(_file(test), deque())
            waiting.append(test)
        for file, tests_of_it in self._files.items():
            self._left[file] = sum(self._seconds[test.key] for test in tests_of_it)
        self.seconds = sum(self._seconds.values())
        self.paced = 0.0
        """Of these seconds, those of tests whose expectation was learned in this run."""
        self.guessed = 0.0
        """Seconds that tests with a learned expectation were taken for before."""
        self._learned: set[str] = set()

    def __len__(self) -> int:
        singles = len(self._alone) + len(self._later)
        return singles + sum(map(len, self._halves)) + sum(map(len, self._files.values()))

    def seconds_of(self, key: str) -> float:
        """How long this test is expected to take."""
        return self._seconds[key]

    def take(self) -> Batch | None:
        """The next batch; None when nothing waits."""
        if self._alone:
            return self._single(self._alone)
        if self._halves:
            half = self._halves.popleft()
            for test in half:
                self._count(test, -1)
            return Batch(suite=half[0].id.suite, tests=half)
        file = self._largest()
        if file is not None:
            return Batch(suite=file[0], tests=self._cut(file))
        return self._single(self._later) if self._later else None

    def _largest(self, suite: str = "") -> tuple[str, str] | None:
        """The file with most work left, of one suite if one is named: what is left of it last is cut finest."""
        waiting = [each for each, tests in self._files.items() if tests and suite in ("", each[0])]
        return max(waiting, key=lambda each: (self._left[each], len(self._files[each])), default=None)

    def _single(self, waiting: deque[PlannedTest]) -> Batch:
        test = self._take(waiting)
        return Batch(suite=test.id.suite, tests=(test,), alone=True)

    def give_back(self, tests: Iterable[PlannedTest]) -> None:
        """Put back tests that a child did not come to; they are the next ones of their file."""
        for test in reversed(list(tests)):
            file = _file(test)
            self._files.setdefault(file, deque()).appendleft(test)
            self._left[file] = self._left.get(file, 0.0) + self._seconds[test.key]
            self._count(test, 1)

    def learn(self, tests: Iterable[PlannedTest], seconds: float) -> None:
        """What tests are expected to take that were never measured; none of them may wait in the queue."""
        for key in [test.key for test in tests if test.key not in self._measured]:
            if key not in self._learned:
                self.guessed += self._seconds[key]
                self._learned.add(key)
            self._seconds[key] = seconds

    def is_learned(self, key: str) -> bool:
        """Whether the expectation was learned in this run."""
        return key in self._learned

    def _count(self, test: PlannedTest, times: int) -> None:
        """A test comes to wait (1) or waits no more (-1)."""
        self.seconds += times * self._seconds[test.key]
        if test.key in self._learned:
            self.paced += times * self._seconds[test.key]

    def halve(self, tests: Sequence[PlannedTest]) -> None:
        """Have these tests run as two batches: one of them keeps a child from starting any."""
        middle = len(tests) // 2
        self._halves.extend(tuple(half) for half in (tests[:middle], tests[middle:]) if half)
        for test in tests:
            self._count(test, 1)

    def later(self, test: PlannedTest) -> None:
        """Have this test run by itself, after all the others."""
        self._later.append(test)
        self._count(test, 1)

    def alone(self, test: PlannedTest) -> None:
        """Have this test run by itself, before the rest; one that an earlier session ran may be new here."""
        self._alone.append(test)
        self._seconds.setdefault(test.key, UNKNOWN_SECONDS)
        self._count(test, 1)

    def _cut(self, first: tuple[str, str]) -> tuple[PlannedTest, ...]:
        # One worker has nobody to wait for; several end together when batches get smaller.
        share = self.seconds / (2 * self._workers) if self._workers > 1 else self.seconds
        enough = min(max(share, SHORTEST_BATCH), LONGEST_BATCH)
        batch: list[PlannedTest] = []
        spent = 0.0
        file: tuple[str, str] | None = first
        # Files that are worth no child of their own go together.
        while file is not None and (not batch or spent < SHORTEST_BATCH) and len(batch) < MOST_TESTS:
            waiting = self._files[file]
            before = spent
            while waiting and spent < enough and len(batch) < MOST_TESTS:
                batch.append(self._take(waiting))
                spent += self._seconds[batch[-1].key]
            self._left[file] -= spent - before
            file = self._largest(first[0])
        return tuple(sorted(batch, key=lambda each: self._place[each.key]))

    def _take(self, waiting: deque[PlannedTest]) -> PlannedTest:
        test = waiting.popleft()
        self._count(test, -1)
        return test


def _file(test: PlannedTest) -> tuple[str, str]:
    return test.id.suite, test.id.file


def _estimates(tests: Iterable[PlannedTest], durations: Mapping[str, float]) -> dict[str, float]:
    """Seconds by key: what was measured, else the mean over tests of the same kind and class, else over all."""
    planned = list(tests)
    known = [durations[test.key] for test in planned if test.key in durations]
    usual = sum(known) / len(known) if known else UNKNOWN_SECONDS
    alike: dict[tuple[str, ...], list[float]] = {}
    for test in planned:
        if test.key in durations:
            alike.setdefault(_kin(test), []).append(durations[test.key])
    means = {kin: sum(spent) / len(spent) for kin, spent in alike.items()}
    return {test.key: durations.get(test.key, means.get(_kin(test), usual)) for test in planned}


def _kin(test: PlannedTest) -> tuple[str, ...]:
    return test.id.suite, test.id.file, test.id.kind or test.id.cls
