"""A run's folder is read back with exactly one outcome a planned test."""

from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.journal import Journal
from conformance.outcomes import Attempt, Outcome, RanOn, Stage, TestId
from conformance.plan import Decision, PlannedTest, RunHeader, Selection, digest
from conformance.record import RunFolder, counts, read_results


def planned(name: str, decided: Decision | None = None) -> PlannedTest:
    return PlannedTest(id=TestId(suite="s", file="f", cls="c", name=name), definition="d", decided=decided)


def make(path: Path, tests: list[PlannedTest], *, supervised: bool = True) -> RunFolder:
    folder = RunFolder(path=path)
    header = RunHeader(
        run="r", target="sim", release="sim-1.0", simulated=True, selection=Selection(suites=("s",)),
        plan_digest=digest(tests), planned=len(tests), started=0.0, supervised=supervised,
    )  # fmt: skip
    folder.create(header, tests)
    return folder


def test_every_planned_test_has_exactly_one_outcome(tmp_path: Path) -> None:
    skip = Decision(outcome=Outcome.SKIP_ELIGIBILITY, rule="no-out")
    tests = [planned("skipped", skip), planned("passed"), planned("flaky"), planned("never")]
    folder = make(tmp_path, tests)
    with Journal(folder.journals / "one.jsonl") as written:
        written.begin("s::f::c::passed")
        written.end("s::f::c::passed", Attempt(outcome=Outcome.PASS, ran_on=RanOn.DEVICE))
        written.end("s::f::c::flaky", Attempt(outcome=Outcome.PASS))
        written.end("s::f::c::foreign", Attempt(outcome=Outcome.FAIL))
    with Journal(folder.journals / "two.jsonl") as written:
        written.end("s::f::c::flaky", Attempt(outcome=Outcome.FAIL, message="wrong"), number=2)
    results = read_results(folder)
    assert [(each.outcome, each.flaky) for each in results] == [
        (Outcome.SKIP_ELIGIBILITY, False),
        (Outcome.PASS, False),
        (Outcome.FAIL, True),
        (Outcome.NOT_RUN, False),
    ]
    assert results[2].shown.message == "wrong"
    assert sum(counts(results).values()) == len(tests)


def test_an_open_test_is_not_run_in_a_supervised_run_and_a_crash_in_a_plain_session(tmp_path: Path) -> None:
    for supervised, outcome in ((True, Outcome.NOT_RUN), (False, Outcome.CRASH)):
        folder = make(tmp_path / str(supervised), [planned("died")], supervised=supervised)
        journal = Journal(folder.journals / "one.jsonl")
        journal.begin("s::f::c::died")
        journal.stage("s::f::c::died", Stage.EXECUTE)
        (result,) = read_results(folder)
        assert result.outcome is outcome
        if outcome is Outcome.CRASH:
            assert result.shown.stage is Stage.EXECUTE
            assert result.shown.rule == "open-begin"


def test_an_open_test_that_the_supervisor_closed_is_closed(tmp_path: Path) -> None:
    folder = make(tmp_path, [planned("died")], supervised=False)
    Journal(folder.journals / "child.jsonl").begin("s::f::c::died")
    with Journal(folder.journals / "a-supervisor.jsonl") as written:
        written.end("s::f::c::died", Attempt(outcome=Outcome.TIMEOUT))
    (result,) = read_results(folder)
    assert result.outcome is Outcome.TIMEOUT


def test_a_test_that_was_open_when_its_process_closed_was_interrupted_and_did_not_crash(tmp_path: Path) -> None:
    folder = make(tmp_path, [planned("open")], supervised=False)
    with Journal(folder.journals / "one.jsonl") as written:
        written.begin("s::f::c::open")
    (result,) = read_results(folder)
    assert result.outcome is Outcome.NOT_RUN


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not the folder of a run"):
        RunFolder(path=tmp_path).read_header()
