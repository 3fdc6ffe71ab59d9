"""Models in the store: what the folder tells, once for all runs that share it, and with the run or not at all."""

import json
from pathlib import Path

import pytest

from conformance.errors import StoreError, UsageError
from conformance.journal import Journal
from conformance.outcomes import Outcome
from conformance.record import RunFolder
from conformance.store import Store, find_test, ingest, resolve
from conformance.store import models as stored
from conformance.store.models import ModelTable
from tests.modelled import entry, facts, identity, make_models, refused, signature
from tests.runs import attempt, make_run

ONE, TWO = signature("aaaaaaaaaaaa"), signature("bbbbbbbbbbbb", "BertModel", "bert")
NO = refused("unknown-model-type")
ENTRIES = [
    entry("org/one", ONE["id"], downloads=7),
    entry("org/two", TWO["id"], origin="dims", own={"hidden_size": 768}, lacks=["layer_types"], left_out=["auto_map"]),
    entry("org/\U0001f9ea\"</script>\u202e", NO["key"], text_generation=False, source="theirs"),
    entry("org/one", TWO["id"], downloads=2),
]  # fmt: skip
RESULTS = {identity(ONE): Outcome.PASS, identity(TWO): attempt(Outcome.FAIL, cause="c")}


def made(path: Path, **more: object) -> Path:
    told = [facts(identity(ONE), ops=["aten::mm"])]
    return make_models(path, [ONE, TWO], ENTRIES, RESULTS, refusals=[NO], told=told, **more)  # type: ignore[arg-type]


def table_of(store: Store, run: str) -> ModelTable:
    found = stored.find(store, resolve(store, run).run)
    assert found is not None
    return found


def test_the_store_tells_of_every_entry_what_the_folder_tells(store: Store, tmp_path: Path) -> None:
    ingest(store, made(tmp_path / "r1"))
    run, table = resolve(store, "r1").run, table_of(store, "r1")
    assert table.ids == [each["id"] for each in ENTRIES]
    assert table.downloads.tolist() == [7, 0, 0, 2]
    assert [table.sources[each] for each in table.source] == ["mine", "mine", "theirs", "mine"]
    assert [table.stands[each].name for each in table.stand] == [ONE["id"], TWO["id"], NO["key"], TWO["id"]]
    assert table.text.tolist() == [True, True, False, True]
    assert table.stands[table.stand[2]].reason == "no such model type"
    own = stored.own_of(store, run, table, 1)
    assert (own.origin, own.own, own.lacks, own.left_out) == (
        "dims",
        {"hidden_size": 768},
        ["layer_types"],
        ["auto_map"],
    )
    assert stored.configs_of(store, run, table.stands[table.stand[0]]) == (ONE["reduced"], ONE["full"])
    assert stored.configs_of(store, run, table.stands[table.stand[2]]) == ({}, {})


def test_facts_are_found_by_test_with_what_was_measured(store: Store, tmp_path: Path) -> None:
    ingest(store, made(tmp_path / "r1"))
    test = find_test(store, identity(ONE).key)
    assert test is not None
    (found,) = stored.facts_of(store, resolve(store, "r1").run, test.number)
    assert found.told == {"level": "tiny", "config": {"hidden_size": 64}, "inputs": {}, "ops": ["aten::mm"]}
    assert (found.seconds["build"], found.memory["parameters"]) == (0.5, 640)
    assert not stored.facts_of(store, resolve(store, "r1").run, 10**6)


def test_the_next_run_of_an_unchanged_catalogue_adds_no_blob_for_it(store: Store, tmp_path: Path) -> None:
    ingest(store, made(tmp_path / "r1"))
    count = "SELECT count(*) AS blobs FROM blob"
    before = store.rows(count)[0]["blobs"]
    ingest(store, made(tmp_path / "r2", started=1_700_000_100.0))
    assert store.rows(count)[0]["blobs"] == before
    assert table_of(store, "r1") is table_of(store, "r2")
    newest = stored.newest_with_models(store)
    assert newest is not None
    assert newest.uid == "r2"


def test_a_later_state_of_the_run_replaces_what_was_stored(store: Store, tmp_path: Path) -> None:
    path = made(tmp_path / "r1")
    ingest(store, path)
    with Journal(RunFolder(path=path).journals / "two.jsonl") as journal:
        journal.end(identity(TWO).key, attempt(Outcome.PASS), 2)
    with (path / "models" / "facts-2.jsonl").open("w") as file:
        file.write(json.dumps(facts(identity(TWO), number=2)) + '\n{"key": "torn')
    ingest(store, path)
    assert [each["n"] for each in store.rows("SELECT count(*) AS n FROM models")] == [1]
    test = find_test(store, identity(TWO).key)
    assert test is not None
    assert [each.number for each in stored.facts_of(store, resolve(store, "r1").run, test.number)] == [2]


def test_a_run_of_tests_alone_has_no_models(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "r1", {"a": Outcome.PASS}))
    run = resolve(store, "r1").run
    assert stored.find(store, run) is None
    assert not stored.has_models(store, run)
    assert stored.newest_with_models(store) is None


def test_damaged_files_store_nothing_of_the_run(store: Store, tmp_path: Path) -> None:
    path = made(tmp_path / "r1")
    (path / "models" / "attribution.jsonl").write_text('{"id": 7}\n')
    with pytest.raises(UsageError, match="models is damaged"):
        ingest(store, path)
    assert not store.rows("SELECT 1 FROM run")


def test_a_row_that_an_older_program_left_behind_is_not_taken_for_the_runs(store: Store, tmp_path: Path) -> None:
    ingest(store, made(tmp_path / "r1"))
    with store.raw() as cursor:
        cursor.execute("UPDATE run SET digest = 'stored again by a program without models'")
    assert stored.find(store, resolve(store, "r1").run) is None
    assert stored.newest_with_models(store) is None


def test_a_deleted_run_takes_its_models_along_and_a_damaged_one_is_one_sentence(store: Store, tmp_path: Path) -> None:
    ingest(store, made(tmp_path / "r1"))
    with store.raw() as cursor:
        cursor.execute("UPDATE blob SET body = 'nothing'")
    with pytest.raises(StoreError, match="models of run r1 are damaged"):
        table_of(store, "r1")
    with store.raw() as cursor:
        cursor.execute("DELETE FROM run")
    assert not store.rows("SELECT 1 FROM models")
