"""`conformance trends`: releases of one target one after another."""

from collections.abc import Sequence
from typing import Any, Final

import click

from conformance import store
from conformance.cli import documents, screen
from conformance.errors import UsageError
from conformance.outcomes import Phase
from conformance.store import Point, Store

_CSV: Final = (
    "target", "suite", "release", "simulated", "started", "planned", "eligible", "pass", "right", "exceptions", "flaky",
    "ops_served", "ops_fallen", "ops_excluded", "ops_failing", *(f"seconds_{each.value}" for each in Phase),
)  # fmt: skip


@click.command()
@click.option("--target", default="", metavar="T", help="Whose releases.  [default: the only target with any]")
@click.option("--suite", default="", metavar="S", help="Only this suite.")
@click.option("--last", type=click.IntRange(1, 100), default=10, show_default=True, help="How many releases.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def trends(target: str, suite: str, last: int, form: str) -> None:
    """Show the last releases of a target, oldest first: shares, exceptions, ops, seconds to compile and to run.

    Example: conformance trends --target sim --suite ops
    """
    with store.open_store() as opened:
        chosen = _target(opened, target)
        found = [each for each in store.trend(opened, chosen, last) if suite in ("", each.suite)]
    if suite and not found:
        raise UsageError(f"no release of {chosen!r} has a suite {suite!r} in a whole, sealed run: leave --suite out")
    if form == "json":
        screen.say_json({"target": chosen, "points": [document(each) for each in found]})
    elif form == "csv":
        screen.say_csv(_CSV, (_csv_cells(chosen, each) for each in found))
    else:
        _table(chosen, found)


def _target(opened: Store, asked: str) -> str:
    known = store.targets_of(opened)
    if asked in known or (not asked and len(known) == 1):
        return asked or known[0]
    if not known:
        raise UsageError("no sealed run over a whole profile is stored: 'conformance run' makes one")
    wrong = (
        f"target {screen.safe(asked, 60)!r} has no release with a whole, sealed run" if asked else "say which target"
    )
    raise UsageError(f"{wrong}: choose from {', '.join(known)}")


def document(point: Point) -> dict[str, Any]:
    """A point as JSON; `outcomes` add up to `planned`."""
    return {
        "release": point.release, "suite": point.suite, "runs": list(point.runs), "simulated": point.simulated,
        "sealed": point.sealed, "started": point.started.isoformat(), "planned": point.planned,
        "eligible": point.eligible, "passed": point.passed, "right": point.right, "exceptions": point.exceptions,
        "flaky": point.flaky, "outcomes": documents.outcomes(point.counts), "seconds": dict(point.seconds),
        "ops": {
            "served": len(point.ops.served), "fallen": len(point.ops.fallen), "failing": len(point.ops.failing),
            "excluded": sorted(point.ops.excluded), "gained": list(point.gained), "lost": list(point.lost),
        },
    }  # fmt: skip


def _csv_cells(target: str, point: Point) -> tuple[object, ...]:
    ops = point.ops
    return (
        target, point.suite, point.release, int(point.simulated), point.started.isoformat(), point.planned,
        point.eligible, point.passed, point.right, point.exceptions, point.flaky, len(ops.served), len(ops.fallen),
        len(ops.excluded), len(ops.failing), *(point.seconds.get(each.value, 0.0) for each in Phase),
    )  # fmt: skip


def _table(target: str, found: Sequence[Point]) -> None:
    label = ", simulated" if any(each.simulated for each in found) else ""
    for suite in dict.fromkeys(each.suite for each in found):
        mine = [each for each in found if each.suite == suite]
        screen.say(f"suite {screen.safe(suite)} on {screen.safe(target)}{label}")
        screen.say_table(_HEADS, [_cells(each) for each in mine])
        for each in mine:
            _say_ops(each)
        screen.say()


_HEADS: Final = (
    "release", "started (UTC)", "pass / eligible", "(pass + fallback) / eligible", "exceptions", "flaky",
    "ops served", "on the CPU", "failing", "excluded", "compile cold s", "compile warm s", "run s",
)  # fmt: skip


def _cells(point: Point) -> tuple[object, ...]:
    ops, spent = point.ops, point.seconds
    running = sum(spent.get(each, 0.0) for each in (Phase.EXECUTE, Phase.EXECUTE_WARM))
    return (
        point.release, f"{point.started:%Y-%m-%d %H:%M}", screen.percent(point.passed, point.eligible),
        screen.percent(point.right, point.eligible), point.exceptions, point.flaky, len(ops.served), len(ops.fallen),
        len(ops.failing), len(ops.excluded), spent.get(Phase.COMPILE, 0.0), spent.get(Phase.COMPILE_WARM, 0.0), running,
    )  # fmt: skip


def _say_ops(point: Point) -> None:
    for word, names in (("newly served", point.gained), ("no longer served", point.lost)):
        if names:
            screen.say(f"{screen.safe(point.release)}: {len(names):,} ops {word}: {screen.safe(', '.join(names))}")
