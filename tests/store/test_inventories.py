"""The stored inventory is the one that the run's folder tells, and never that of another state of the run."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from conformance import inventory, plan
from conformance.errors import StoreError
from conformance.inventory import Inventory, Overloads, Registration, Status, Tells
from conformance.journal import Journal
from conformance.outcomes import Attempt, Outcome, Reached
from conformance.plan import Decision, Expected
from conformance.record import RunFolder
from conformance.store import Store, find_inventory, ingest, resolve
from tests.runs import Made, identity, make_run

SAID = Overloads(
    torch="2.13.0", device="neuron", key="PrivateUse1", tells=Tells.OVERLOADS, left_out={"prims": 126},
    served={
        Registration.KERNEL: ("aten::add.Tensor", "aten::add.out", "aten::sin"),
        Registration.COMPOSITE_EXPLICIT: ("aten::sort",),
    },
    named={"add": ("aten::add",), "sort": ("aten::sort",)},
)  # fmt: skip


def took(outcome: Outcome, ran: str = "", fell: str = "") -> Attempt:
    return Attempt(outcome=outcome, reached=Reached(executed=frozenset(ran.split()), fallback=frozenset(fell.split())))


RESULTS: dict[str, Made] = {
    "forward.add.float32": took(Outcome.PASS, "aten::add.Tensor"),
    "forward.add.int8": [took(Outcome.FAIL, "aten::add.out"), took(Outcome.PASS, "aten::sin", "strange")],
    "forward.add.int16": [Attempt(outcome=Outcome.CRASH), took(Outcome.CRASH, "aten::sin")],
    "forward.sort.int8": Decision(outcome=Outcome.SKIP_COVERAGE, rule="coverage:x"),
    "backward.sort.int8": None,
}


def with_survey(path: Path, results: Mapping[str, Made]) -> RunFolder:
    folder = RunFolder(path=make_run(path, results))
    folder.overloads.write_bytes(msgspec.json.encode(SAID))
    return folder


def stored(store: Store, folder: RunFolder) -> Inventory | None:
    ingest(store, folder.path)
    return find_inventory(store, resolve(store, folder.path.name).run)


def test_the_store_tells_what_the_folder_tells(store: Store, tmp_path: Path) -> None:
    folder = with_survey(tmp_path / "r1", RESULTS)
    found = stored(store, folder)
    assert found is not None
    assert found == inventory.of_folder(folder)
    assert found.evidence("aten::sin").reached == {Outcome.FAIL: 1, Outcome.CRASH: 1}
    assert found.statuses["aten::sort"] is Status.NEVER_TESTED  # one of its tests has not run


def test_a_test_whose_outcome_an_expectation_settles_keeps_what_it_took(store: Store, tmp_path: Path) -> None:
    folder = with_survey(tmp_path / "r1", {"forward.add.int8": took(Outcome.XPASS, "aten::sin")})
    tests = plan.read(folder.plan)
    plan.write(folder.plan, [msgspec.structs.replace(each, expected=Expected(rule="expect:x")) for each in tests])
    found = stored(store, folder)
    assert found == inventory.of_folder(folder)
    assert found is not None
    assert found.statuses["aten::sin"] is Status.TESTED


def test_a_run_before_which_nothing_was_asked_has_none(store: Store, tmp_path: Path) -> None:
    assert stored(store, RunFolder(path=make_run(tmp_path / "r1", RESULTS))) is None


def test_a_later_state_replaces_the_earlier_and_runs_share_what_the_device_said(store: Store, tmp_path: Path) -> None:
    folder = with_survey(tmp_path / "r1", RESULTS)
    stored(store, folder)
    with Journal(folder.journals / "two.jsonl") as journal:
        journal.end(identity("backward.sort.int8").key, took(Outcome.PASS, "aten::sort"))
    found = stored(store, folder)
    assert found is not None
    assert found.statuses["aten::sort"] is Status.TESTED
    stored(store, with_survey(tmp_path / "r2", RESULTS))
    (row,) = store.rows("SELECT count(*) AS rows, count(DISTINCT overloads) AS blobs FROM inventory")
    assert (row["rows"], row["blobs"]) == (2, 1)


def test_a_row_that_an_older_program_left_behind_is_not_taken_for_the_runs(store: Store, tmp_path: Path) -> None:
    stored(store, with_survey(tmp_path / "r1", RESULTS))
    with store.raw() as cursor:
        cursor.execute("UPDATE run SET digest = 'stored again by a program without inventories'")
    assert find_inventory(store, resolve(store, "r1").run) is None


def test_a_deleted_run_takes_its_inventory_along(store: Store, tmp_path: Path) -> None:
    stored(store, with_survey(tmp_path / "r1", RESULTS))
    with store.raw() as cursor:
        cursor.execute("DELETE FROM run")
    assert not store.rows("SELECT 1 FROM inventory")


def test_a_damaged_row_is_one_sentence(store: Store, tmp_path: Path) -> None:
    stored(store, with_survey(tmp_path / "r1", RESULTS))
    with store.raw() as cursor:
        cursor.execute("UPDATE inventory SET reaching = 'nothing'")
    with pytest.raises(StoreError, match="the inventory of run r1 is damaged"):
        find_inventory(store, resolve(store, "r1").run)
