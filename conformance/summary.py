"""What a run came to: one object, a line a test, or a table whose totals equal the plan."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from conformance import outcomes
from conformance.outcomes import Outcome
from conformance.plan import PlannedTest, RunHeader
from conformance.record import Result


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """A run with its results."""

    header: RunHeader
    results: Sequence[Result]

    @property
    def counts(self) -> Counter[Outcome]:
        """Planned tests by outcome."""
        return Counter(each.outcome for each in self.results)

    @property
    def eligible(self) -> int:
        """Planned tests without those that PyTorch's rules, an invalid question or the machine took out."""
        return outcomes.eligible(self.counts)

    @property
    def order_dependent(self) -> list[Result]:
        """The tests that end otherwise alone than among others."""
        return [each for each in self.results if each.order_dependent]

    @property
    def leaked(self) -> Counter[str]:
        """Tests by what they left changed for the next one, most first."""
        found = Counter(
            name for each in self.results for name in {line.partition(":")[0] for line in each.shown.leaked}
        )
        return Counter(dict(found.most_common()))

    @property
    def reused(self) -> Counter[str]:
        """Tests whose outcome was taken over, by the run that it is from."""
        return Counter(each.shown.reused for each in self.results if each.shown.reused)

    @property
    def origins(self) -> dict[str, int]:
        """Where outcomes are from; the numbers add up to the plan."""
        decided, left = sum(each.test.decided is not None for each in self.results), self.counts[Outcome.NOT_RUN]
        ran = len(self.results) - decided - left - self.reused.total()
        return {"ran": ran, "reused": self.reused.total(), "settled while planning": decided, "not run": left}

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by phase over all attempts that this run made."""
        total: Counter[str] = Counter()
        for each in self.results:
            for attempt in each.attempts:
                if not attempt.reused:
                    total.update(attempt.seconds)
        return {phase: round(spent, 3) for phase, spent in sorted(total.items())}

    def document(self) -> dict[str, Any]:
        """The object that `--format json` prints; its outcomes add up to `planned`."""
        counts = self.counts
        return {
            "run": self.header.run,
            "release": self.header.release,
            "target": self.header.target,
            "simulated": self.header.simulated,
            "planned": len(self.results),
            "eligible": self.eligible,
            "outcomes": {each.word: counts[each] for each in Outcome if counts[each]},
            "flaky": sum(each.flaky for each in self.results),
            "order_dependent": [each.test.key for each in self.order_dependent],
            "leaked": dict(self.leaked),
            "reused": dict(self.reused),
            "origins": self.origins,
            "seconds": self.seconds,
        }


def line_of(result: Result, *, simulated: bool) -> dict[str, Any]:
    """The object that `--format ndjson` prints for a test; each says whether it was simulated, wherever it goes."""
    shown = result.shown
    return {
        "id": result.test.key,
        "simulated": simulated,
        "outcome": result.outcome.word,
        "flaky": result.flaky,
        "order_dependent": result.order_dependent,
        "rule": shown.rule,
        "ran_on": shown.ran_on,
        "stage": shown.stage,
        "seconds": {phase: round(spent, 6) for phase, spent in shown.seconds.items()},
        "message": shown.message,
        "leaked": list(shown.leaked),
        "reused": shown.reused,
    }


def json(document: dict[str, Any]) -> str:
    """One line of JSON; control characters of foreign text are escaped."""
    return msgspec.json.encode(document).decode()


def grouped(tests: Iterable[tuple[PlannedTest, Outcome]]) -> dict[str, Counter[Outcome]]:
    """Outcomes by kind in plan order, or by suite where tests have no kind; by both where there are several suites."""
    listed = list(tests)
    several = len({test.id.suite for test, _ in listed}) > 1
    rows: dict[str, Counter[Outcome]] = {}
    for test, outcome in listed:
        kind, suite = test.id.kind, test.id.suite
        name = f"{suite}: {kind}" if several and kind else kind or suite
        rows.setdefault(name, Counter())[outcome] += 1
    return rows


def by_kind(results: Iterable[Result]) -> dict[str, Counter[Outcome]]:
    """What a run's tests ended as, grouped."""
    return grouped((each.test, each.outcome) for each in results)
