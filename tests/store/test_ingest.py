"""Ingest is all or nothing, the same twice, and safe beside another."""

import json
from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.journal import Journal
from conformance.outcomes import Outcome, TestId
from conformance.plan import Decision, PlannedTest, RunHeader, Selection
from conformance.record import RunFolder
from conformance.store import (
    Filter,
    Store,
    attempts_of,
    find_run,
    find_test,
    ingest,
    outcome_rows,
    resolve,
    search_tests,
)
from tests.runs import Made, attempt, identity, make_run

MIXED: dict[str, Made] = {
    "forward.add.float32": Outcome.PASS,
    "forward.add.int64": attempt(Outcome.FALLBACK, ops=["aten::add", "aten::mul"]),
    "forward.mul.float32": attempt(Outcome.FAIL, cause="AssertionError: x", message="wrong", detail="Traceback …"),
    "out.add.float32": Decision(outcome=Outcome.SKIP_ELIGIBILITY, rule="no-out", reason="has no out="),
    "forward.sin.float32": [attempt(Outcome.CRASH, cause="SIGSEGV"), attempt(Outcome.PASS)],
    "forward.cos.float32": None,
}


def dump(store: Store) -> list[object]:
    """Everything that is stored, but for the moment of storing."""
    tables = {
        "run": "to_jsonb(x) - 'ingested'", "vector": "to_jsonb(x)", "side": "to_jsonb(x)", "attempt": "to_jsonb(x)",
        "test": "to_jsonb(x)", "phrase": "to_jsonb(x)", "blob": "to_jsonb(x)",
    }  # fmt: skip
    rows = [store.rows(f"SELECT {what} AS row FROM {name} x") for name, what in tables.items()]
    return sorted(json.dumps(each["row"], sort_keys=True) for table in rows for each in table)


def test_every_planned_test_is_stored_with_its_outcome(store: Store, tmp_path: Path) -> None:
    done = ingest(store, make_run(tmp_path / "r1", MIXED))
    assert (done.run, done.planned, done.sealed, done.flaky, done.unchanged) == ("r1", 6, False, 1, False)
    assert done.counts == {
        Outcome.PASS: 1, Outcome.FALLBACK: 1, Outcome.FAIL: 1, Outcome.SKIP_ELIGIBILITY: 1, Outcome.CRASH: 1,
        Outcome.NOT_RUN: 1,
    }  # fmt: skip
    run = resolve(store, "r1").run
    assert run.counts == done.counts
    assert (run.eligible, run.passed, run.right, run.sealed, run.torch) == (5, 1, 2, False, "2.13.0")
    rows = {each.id.name: each for each in outcome_rows(store, run, Filter()).rows}
    assert list(rows) == list(MIXED)
    assert rows["forward.add.int64"].fallback_ops == ("aten::add", "aten::mul")
    assert rows["forward.mul.float32"].cause == "AssertionError: x"
    assert rows["out.add.float32"].rule == "no-out"
    assert rows["forward.sin.float32"].flaky
    assert rows["forward.sin.float32"].attempts == 2
    assert rows["forward.add.float32"].seconds == pytest.approx({"setup": 0.001, "execute": 0.5}, rel=0.0055)
    assert rows["forward.add.float32"].id == identity("forward.add.float32")


def test_attempts_of_failures_and_of_repeated_tests_are_kept(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "r1", MIXED))
    run = resolve(store, "r1").run
    rows = {each.id.name: attempts_of(store, run, each.number) for each in outcome_rows(store, run, Filter()).rows}
    assert [each.outcome for each in rows["forward.sin.float32"]] == [Outcome.CRASH, Outcome.PASS]
    (failed,) = rows["forward.mul.float32"]
    assert (failed.detail, failed.message, failed.seconds) == ("Traceback …", "wrong", {"setup": 0.001, "execute": 0.5})
    assert not rows["forward.add.float32"]
    assert not rows["out.add.float32"]


def test_storing_a_run_twice_changes_nothing(store: Store, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "r1", MIXED)
    ingest(store, folder)
    before = dump(store)
    again = ingest(store, folder)
    assert again.unchanged
    assert dump(store) == before


def test_a_run_that_went_on_replaces_what_was_stored_of_it(store: Store, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "r1", MIXED)
    ingest(store, folder)
    first = resolve(store, "r1").run
    with Journal(RunFolder(path=folder).journals / "two.jsonl") as journal:
        journal.end(identity("forward.cos.float32").key, attempt(Outcome.PASS))
    done = ingest(store, folder)
    second = resolve(store, "r1").run
    assert (done.sealed, done.unchanged, done.counts[Outcome.PASS]) == (True, False, 2)
    assert second.sealed
    assert second.number == first.number
    assert second.digest != first.digest
    assert len(store.rows("SELECT 1 FROM attempt")) == 3


def test_the_next_run_adds_no_text_and_no_definition_that_is_stored_already(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "r1", MIXED))
    counts = "SELECT (SELECT count(*) FROM phrase) p, (SELECT count(*) FROM blob) b, (SELECT count(*) FROM test) t"
    before = dict(store.rows(counts)[0])
    ingest(store, make_run(tmp_path / "r2", MIXED))
    assert dict(store.rows(counts)[0]) == before


def test_numbers_of_tests_have_no_gaps_even_after_a_refused_ingest(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "r1", {"a": Outcome.PASS, "b": Outcome.PASS}))
    other = make_run(tmp_path / "other", {"c": Outcome.PASS}, uid="r1", release="sim-1.1")
    with pytest.raises(UsageError, match="ids name one run for ever"):
        ingest(store, other)
    ingest(store, make_run(tmp_path / "r2", {"d": Outcome.PASS, "a": Outcome.FAIL}))
    assert [each["id"] for each in store.rows("SELECT id FROM test ORDER BY id")] == [0, 1, 2]
    assert find_test(store, identity("c").key) is None


def test_a_test_that_a_plain_session_left_open_is_a_crash(store: Store, tmp_path: Path) -> None:
    folder = RunFolder(path=tmp_path / "plain")
    tests = [PlannedTest(id=identity("died"), definition="1")]
    header = RunHeader(
        run="plain", target="sim", release="sim-1.0", simulated=True, selection=Selection(suites=("s",)),
        plan_digest="", planned=1, started=1.7e9, supervised=False,
    )  # fmt: skip
    folder.create(header, tests)
    Journal(folder.journals / "one.jsonl").begin(tests[0].key)
    assert ingest(store, folder.path).counts == {Outcome.CRASH: 1}


def test_a_folder_that_is_no_run_and_a_damaged_one_are_refused_in_a_sentence(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not the folder of a run"):
        ingest(store, tmp_path)
    folder = make_run(tmp_path / "r1", {"a": Outcome.PASS, "b": Outcome.PASS})
    plan = RunFolder(path=folder).plan
    lines = plan.read_bytes().splitlines(keepends=True)
    plan.write_bytes(lines[0])
    with pytest.raises(UsageError, match=r"its plan has 1 tests and run\.json says 2"):
        ingest(store, folder)
    plan.write_bytes(lines[0] * 2)
    with pytest.raises(UsageError, match="two planned tests have one identity"):
        ingest(store, folder)
    plan.unlink()
    with pytest.raises(UsageError, match="is not the folder of a run"):
        ingest(store, folder)
    assert find_run(store, "r1") is None


def test_hostile_names_and_messages_are_stored_as_they_are_and_found_again(store: Store, tmp_path: Path) -> None:
    names = [
        "x\x1b[31mred",
        "nul\0byte",
        "a::b::c",
        "y" * 9_000,
        "100%_\\",
        "'; DROP TABLE run; --",
        "ü\u202e\U0001f600",
    ]
    results: dict[str, Made] = {
        each: attempt(Outcome.FAIL, message=each[:900], cause=each[:900], detail=each) for each in names
    }
    ingest(store, make_run(tmp_path / "r1", results))
    run = resolve(store, "r1").run
    page = outcome_rows(store, run, Filter())
    stored = [each.replace("\0", "\\0") for each in names]
    assert [each.id.name for each in page.rows] == stored
    assert [attempts_of(store, run, each.number)[0].detail for each in page.rows] == stored
    for name in stored:
        assert find_test(store, identity(name).key) is not None
    for part in ("%", "_", "\\", "'; DROP"):
        assert [each.id.name for each in search_tests(store, part)] == [each for each in stored if part in each]


def test_an_identity_with_colons_keeps_its_parts(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "r1", {"a::b": Outcome.PASS}))
    found = find_test(store, "s::f.py::C::a::b")
    assert found is not None
    assert found.id == TestId(suite="s", file="f.py", cls="C", name="a::b")


def test_an_empty_plan_is_a_sealed_run_without_tests(store: Store, tmp_path: Path) -> None:
    done = ingest(store, make_run(tmp_path / "r1", {}))
    run = resolve(store, "r1").run
    assert (done.planned, done.counts, run.planned, outcome_rows(store, run, Filter()).total) == (0, {}, 0, 0)
