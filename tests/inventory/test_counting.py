"""Runs counted by overload: which tests took it, on which side, and what is said when nothing was recorded."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from conformance import inventory
from conformance.errors import UsageError
from conformance.inventory import Evidence, Inventory, Overloads, Registration, Status, Tells
from conformance.outcomes import Attempt, Outcome, Reached
from conformance.plan import Decision
from conformance.record import RunFolder
from tests.runs import Made, make_run

SERVED = {
    Registration.KERNEL: ("aten::add.Tensor", "aten::add.out", "aten::add_.Tensor", "aten::sin", "aten::sort.stable"),
    Registration.COMPOSITE_EXPLICIT: ("aten::sort",),
    Registration.NONE: ("aten::qscheme",),
}
NAMED = {"add": ("aten::add", "aten::add_"), "sort": ("aten::sort",)}


def took(outcome: Outcome, ran: str = "", fell: str = "") -> Attempt:
    reached = Reached(executed=frozenset(ran.split()), fallback=frozenset(fell.split()))
    return Attempt(outcome=outcome, reached=reached)


def counted(path: Path, results: Mapping[str, Made], tells: Tells = Tells.OVERLOADS) -> Inventory:
    folder = RunFolder(path=make_run(path / "run", results))
    said = Overloads(
        torch="2.13.0", device="neuron", key="PrivateUse1", tells=tells, served=SERVED, left_out={"prims": 126},
        named=NAMED,
    )  # fmt: skip
    folder.overloads.write_bytes(msgspec.json.encode(said))
    found = inventory.of_folder(folder)
    assert found is not None
    assert sum(sum(each.values()) for each in found.totals().values()) == found.overloads.number == 7
    return found


def test_each_test_counts_once_for_each_overload_that_it_took(tmp_path: Path) -> None:
    found = counted(
        tmp_path,
        {
            "forward.add.float32": took(Outcome.PASS, "aten::add.Tensor aten::sin"),
            "forward.add.float64": took(Outcome.FALLBACK, "aten::sin", "aten::add.Tensor"),
            "forward.add.int8": took(Outcome.FALLBACK, "aten::add.Tensor", "aten::add.Tensor"),
            "out.add.float32": took(Outcome.FAIL, "aten::add.out"),
            "inplace.add.int8": took(Outcome.FALLBACK, "", "aten::add_.Tensor"),
            "forward.sort.int8": Decision(outcome=Outcome.SKIP_COVERAGE, rule="coverage:x", reason="no"),
            "other": took(Outcome.PASS, "strange::op"),
        },
    )
    named = {Outcome.PASS: 1, Outcome.FALLBACK: 3, Outcome.FAIL: 1}
    assert found.evidence("aten::add.Tensor") == Evidence(
        ran={Outcome.PASS: 1}, fell={Outcome.FALLBACK: 1}, both={Outcome.FALLBACK: 1}, named=named
    )
    assert found.statuses == {
        "aten::add.Tensor": Status.TESTED,
        "aten::add.out": Status.ONLY_FAILING,
        "aten::add_.Tensor": Status.FELL_BACK,
        "aten::sin": Status.TESTED,
        "aten::sort": Status.SKIPPED,
        "aten::sort.stable": Status.SKIPPED,
        "aten::qscheme": Status.NEVER_TESTED,
    }
    assert found.reaching is not None
    assert (found.reaching.told, found.reaching.untold, found.reaching.foreign) == (6, 0, {"strange::op": 1})


def test_every_attempt_of_a_test_is_looked_at_and_the_test_is_counted_under_the_outcome_that_stands(
    tmp_path: Path,
) -> None:
    attempts = [took(Outcome.PASS, "aten::sin"), took(Outcome.FAIL, "aten::add.out aten::sin")]
    found = counted(tmp_path, {"t": attempts})
    assert found.evidence("aten::sin").reached == found.evidence("aten::add.out").reached == {Outcome.FAIL: 1}


def test_names_without_overload_never_count_as_tested(tmp_path: Path) -> None:
    found = counted(tmp_path, {"t": took(Outcome.PASS, "add aten::sin qscheme", "aten::sort")}, tells=Tells.NAMES)
    assert found.statuses == {
        "aten::add.Tensor": Status.REACHED_OVERLOAD_UNKNOWN,
        "aten::add.out": Status.REACHED_OVERLOAD_UNKNOWN,
        "aten::add_.Tensor": Status.NEVER_TESTED,
        "aten::sin": Status.TESTED,  # it has no other overload
        "aten::sort": Status.REACHED_OVERLOAD_UNKNOWN,
        "aten::sort.stable": Status.REACHED_OVERLOAD_UNKNOWN,
        "aten::qscheme": Status.TESTED,
    }


def test_a_run_that_records_no_ops_is_unknown_and_not_untested(tmp_path: Path) -> None:
    found = counted(tmp_path, {"a": Outcome.PASS, "b": Outcome.FAIL, "c": Outcome.SKIP_COVERAGE})
    assert set(found.statuses.values()) == {Status.UNKNOWN}
    assert found.reaching is not None
    assert (found.reaching.told, found.reaching.untold) == (0, 2)


def test_a_run_in_which_nothing_ran_has_tested_nothing(tmp_path: Path) -> None:
    found = counted(tmp_path, {"forward.add.float32": Outcome.SKIP_COVERAGE, "forward.sort.int8": None})
    assert found.statuses["aten::add.out"] is Status.SKIPPED
    assert found.statuses["aten::sort"] is Status.NEVER_TESTED


def test_a_run_before_which_nothing_was_asked_has_no_inventory(tmp_path: Path) -> None:
    assert inventory.of_folder(RunFolder(path=make_run(tmp_path / "run", {"a": Outcome.PASS}))) is None


def test_a_damaged_survey_is_named(tmp_path: Path) -> None:
    folder = RunFolder(path=make_run(tmp_path / "run", {"a": Outcome.PASS}))
    folder.overloads.write_text('{"torch": 1}')
    with pytest.raises(UsageError, match=r"overloads\.json cannot be read"):
        inventory.of_folder(folder)
