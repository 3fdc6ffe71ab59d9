"""Probed tests and foreseen deaths in the store: the same outcomes as in the run's folder, every attempt kept."""

from pathlib import Path

from conformance import record
from conformance.outcomes import Outcome
from conformance.plan import Decision
from conformance.record import RunFolder
from conformance.store import Filter, Store, attempts_of, ingest, outcome_rows, resolve
from tests.runs import Made, attempt, make_run

ENTRY = Decision(outcome=Outcome.SKIP_COVERAGE, rule="coverage:x", reason="not yet")
MADE: dict[str, Made] = {
    "forward.right.f": attempt(Outcome.PASS),
    "forward.dies.f": [attempt(Outcome.CRASH, cause="process died", message="killed"), attempt(Outcome.PASS)],
    "forward.wrong.f": attempt(Outcome.FAIL, cause="AssertionError: no", message="1 is not 2"),
    "forward.later.f": None,
}


def test_the_store_says_what_the_folder_says_and_keeps_what_probing_saw(store: Store, tmp_path: Path) -> None:
    path = make_run(tmp_path / "run", MADE, probed=dict.fromkeys(MADE, ENTRY))
    found = ingest(store, path)
    assert not found.sealed
    assert found.flaky == 0
    run = resolve(store, "run").run
    rows = {row.id.name: row for row in outcome_rows(store, run, Filter()).rows}
    read = {each.test.id.name: each for each in record.read_results(RunFolder(path=path))}
    for name, row in rows.items():
        shown = read[name].shown
        assert (row.outcome, row.flaky) == (read[name].outcome, read[name].flaky)
        assert (row.rule, row.message, row.cause, row.stage) == (shown.rule, shown.message, shown.cause, shown.stage)
    assert {name: row.outcome for name, row in rows.items()} == {
        "forward.right.f": Outcome.PASS, "forward.dies.f": Outcome.SKIP_COVERAGE,
        "forward.wrong.f": Outcome.SKIP_COVERAGE, "forward.later.f": Outcome.NOT_RUN,
    }  # fmt: skip
    assert rows["forward.wrong.f"].message == "not yet\nprobed: fail: 1 is not 2"
    kept = {name: [each.outcome for each in attempts_of(store, run, row.number)] for name, row in rows.items()}
    assert kept == {
        "forward.right.f": [Outcome.PASS], "forward.dies.f": [Outcome.CRASH, Outcome.PASS],
        "forward.wrong.f": [Outcome.FAIL], "forward.later.f": [],
    }  # fmt: skip
