"""Releases one after another: totals are the plan's, every op is in one place, what was gained and lost is told."""

import csv
import io
import json
from pathlib import Path

import pytest

from conformance.outcomes import Outcome
from conformance.plan import Decision
from conformance.store import Store, ingest, targets_of, trend
from tests.conftest import Command
from tests.runs import Made, attempt, make_run

SKIP = Decision(outcome=Outcome.SKIP_COVERAGE, rule="coverage:x", reason="not claimed")
NOT_FOR = Decision(outcome=Outcome.SKIP_ELIGIBILITY, rule="upstream:opinfo", reason="not for this")
OLD: dict[str, Made] = {
    "forward.add.float32": Outcome.PASS,
    "forward.add.int64": SKIP,
    "forward.sin.float32": SKIP,
    "forward.cos.float32": Outcome.PASS,
    "forward.fft.float32": attempt(Outcome.FALLBACK, ops=["aten::fft"]),
    "forward.fft.int64": NOT_FOR,
    "forward.bad.float32": Outcome.FAIL,
    "forward.none.float32": NOT_FOR,
    "forward.gone.float32": Outcome.PASS,
}
NEW: dict[str, Made] = {
    **{name: made for name, made in OLD.items() if "gone" not in name},
    "forward.sin.float32": Outcome.PASS,
    "forward.cos.float32": Outcome.CRASH,
    "forward.fresh.float32": Outcome.PASS,
}


@pytest.fixture
def stored(store: Store, tmp_path: Path) -> Store:
    make_run(tmp_path / "old", OLD, release="sim-1.0", started=1_700_000_000.0)
    make_run(tmp_path / "new", NEW, release="sim-1.1", started=1_700_100_000.0)
    make_run(tmp_path / "again", {**NEW, "forward.add.float32": Outcome.FAIL}, release="sim-1.1", started=1.7002e9)
    make_run(tmp_path / "half", {**NEW, "forward.add.float32": None}, release="sim-1.2", started=1.7003e9)
    make_run(tmp_path / "other", OLD, release="x-1", target="cpu", started=1.7004e9)
    for each in ("old", "new", "again", "half", "other"):
        ingest(store, tmp_path / each)
    return store


def test_releases_are_in_order_whole_and_combined_by_the_worst(stored: Store) -> None:
    first, last = trend(stored, "sim")
    assert (first.release, last.release) == ("sim-1.0", "sim-1.1")
    assert targets_of(stored) == ["cpu", "sim"]
    assert (first.planned, first.eligible, first.passed, first.right) == (9, 7, 3, 4)
    assert (last.planned, last.eligible, last.passed) == (9, 7, 2)
    assert last.counts[Outcome.FAIL] == 2
    assert last.flaky == 1
    assert set(last.runs) == {"new", "again"}
    assert (first.exceptions, last.exceptions) == (2, 1)
    assert first.seconds["execute"] == pytest.approx(0.5 * 5, rel=0.01)


def test_every_op_with_a_test_that_applies_is_in_one_place(stored: Store) -> None:
    first, last = trend(stored, "sim")
    assert first.ops.served == {"add", "cos", "gone"}
    assert (first.ops.fallen, first.ops.excluded, first.ops.failing) == ({"fft"}, {"sin"}, {"bad"})
    assert last.ops.failing == {"bad", "cos", "add"}
    for each in (first, last):
        parts = (each.ops.served, each.ops.fallen, each.ops.excluded, each.ops.failing)
        assert sum(map(len, parts)) == len(frozenset().union(*parts))


def test_what_is_gained_and_lost_is_of_ops_that_both_releases_have(stored: Store) -> None:
    first, last = trend(stored, "sim")
    assert (first.gained, first.lost) == ((), ())
    assert (last.gained, last.lost) == (["sin"], ["add", "cos"])
    (alone,) = trend(stored, "sim", most=1)
    assert (alone.release, alone.gained) == ("sim-1.1", ())


@pytest.mark.usefixtures("stored")
def test_the_command_tells_the_same_in_every_format(command: Command) -> None:
    document = json.loads(command("trends", "--target", "sim", "--format", "json").out)
    rows = list(csv.DictReader(io.StringIO(command("trends", "--target", "sim", "--format", "csv").out)))
    assert [each["release"] for each in document["points"]] == [each["release"] for each in rows]
    for point, row in zip(document["points"], rows, strict=True):
        assert sum(point["outcomes"].values()) == point["planned"] == int(row["planned"])
        assert point["passed"] == int(row["pass"])
    table = command("trends", "--target", "sim").out
    assert "suite s on sim, simulated" in table
    assert "sim-1.1: 1 ops newly served: sin" in table
    assert "sim-1.1: 2 ops no longer served: add, cos" in table


@pytest.mark.usefixtures("stored")
def test_a_target_that_nobody_named_or_that_has_no_release_is_refused_with_the_choices(command: Command) -> None:
    said = command("trends")
    assert said.code == 2
    assert "say which target: choose from cpu, sim" in said.err
    assert "target 'trn2' has no release" in command("trends", "--target", "trn2").err
    assert "has a suite 'x'" in command("trends", "--target", "sim", "--suite", "x").err
