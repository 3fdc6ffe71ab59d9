"""What a run's report says of tests that others have a part in: order dependence and what was left changed."""

from typing import Final

from conformance.cli import screen
from conformance.outcomes import Attempt
from conformance.record import Result
from conformance.summary import Summary

_LISTED: Final = 20


def lines(done: Summary) -> list[str]:
    """The order-dependent tests with both endings, and what tests left changed; nothing where there is none."""
    return [*_dependent(done), *_left(done)]


def _dependent(done: Summary) -> list[str]:
    found = done.order_dependent
    if not found:
        return []
    more = [f"  and {len(found) - _LISTED} more"] if len(found) > _LISTED else []
    return [
        f"order-dependent, ending otherwise alone: {len(found)} of {len(done.results)} tests",
        *map(_line, found[:_LISTED]),
        *more,
    ]


def _line(result: Result) -> str:
    return f"  {screen.safe(result.test.key, 300)}: {_ending(result, alone=False)} among others, " + (
        f"{_ending(result, alone=True)} alone"
    )


def _ending(result: Result, *, alone: bool) -> str:
    made: list[Attempt] = [each for each in result.attempts if each.alone is alone]
    return made[-1].outcome.word if made else "not run"


def _left(done: Summary) -> list[str]:
    if not done.leaked:
        return []
    counted = ", ".join(f"{screen.safe(name, 60)} {number}" for name, number in done.leaked.items())
    return [f"left changed by tests, put back where that can be done: {counted}"]
