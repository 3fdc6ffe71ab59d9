"""A plan is whole or absent, and its identities are unique."""

from pathlib import Path

import pytest

from conformance import plan
from conformance.errors import UsageError
from conformance.outcomes import Outcome, TestId
from conformance.plan import Decision, PlannedTest, Selection


def planned(name: str, definition: str = "d", decided: Decision | None = None) -> PlannedTest:
    identity = TestId(suite="s", file="f", cls="c", name=name, op=name)
    return PlannedTest(id=identity, definition=definition, decided=decided)


def test_a_reason_that_utf_8_cannot_hold_is_kept_as_an_escape(tmp_path: Path) -> None:
    decided = Decision(outcome=Outcome.INVALID, rule="r", reason="half a \ud800 character")
    test = PlannedTest(id=TestId(suite="s", file="f", cls="c", name="t\udfff"), definition="", decided=decided)
    plan.write(tmp_path / "plan", [test])
    (read,) = plan.read(tmp_path / "plan")
    assert read.decided is not None
    assert (read.id.name, read.decided.reason) == ("t\\udfff", "half a \\ud800 character")


def test_a_plan_comes_back_as_it_was_written(tmp_path: Path) -> None:
    skip = Decision(outcome=Outcome.SKIP_ELIGIBILITY, rule="no-out", reason="has no out= variant")
    tests = [planned("a"), planned("b", decided=skip), planned("c::d")]
    plan.write(tmp_path / "plan.jsonl", tests)
    assert plan.read(tmp_path / "plan.jsonl") == tests
    assert [each.name for each in tmp_path.iterdir()] == ["plan.jsonl"]


def test_where_a_test_is_found_on_this_machine_is_no_part_of_the_plan_s_digest() -> None:
    here = PlannedTest(id=planned("a").id, definition="d", where="/here/test_a.py")
    assert plan.digest([here]) == plan.digest([planned("a")])


def test_two_tests_with_one_identity_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two planned tests have the identity 's::f::c::a'"):
        plan.write(tmp_path / "plan.jsonl", [planned("a"), planned("a", definition="other")])
    assert list(tmp_path.iterdir()) == []


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "plan.jsonl"
    plan.write(path, [planned("a")])
    path.write_bytes(path.read_bytes() + b"{broken\n")
    with pytest.raises(UsageError, match=r"plan\.jsonl:2 is not a planned test"):
        plan.read(path)


def test_the_digest_sees_identity_definition_and_decision() -> None:
    skip = Decision(outcome=Outcome.SKIP_COVERAGE, rule="r")
    variants = [[planned("a")], [planned("b")], [planned("a", "e")], [planned("a", decided=skip)], []]
    assert len({plan.digest(each) for each in variants}) == len(variants)
    assert plan.digest([planned("a")]) == plan.digest([planned("a")])


def test_only_a_full_selection_stands_for_a_release() -> None:
    assert Selection(suites=("ops",)).whole
    assert not Selection(suites=("ops",), ops=("add",)).whole
    assert not Selection(suites=("ops",), shard="1/8").whole


TEST = TestId(suite="upstream", file="sub/test_a", cls="TestA", name="test_add_float32", op="add", dtype="float32")


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ("test_a.py", True),
        ("/x/sub/test_a.py::TestA", True),
        ("sub/test_a.py::TestANEURON", True),
        ("sub/test_a.py::TestAB", False),
        ("sub/test_a.py::TestB", False),
        ("sub/test_a.py::TestA::test_add_float32", True),
        ("sub/test_a.py::TestANEURON::test_add_neuron_float32", True),
        ("sub/test_a.py::TestA::test_add", False),
        ("test_b.py::TestA", False),
    ],
)
def test_a_part_of_a_file_may_be_named_as_in_identities_or_as_pytorch_makes_it(asked: str, fits: bool) -> None:
    assert plan.fits(asked, TEST) is fits
    assert plan.covers(Selection(suites=("upstream",), profile="full", tests=(asked,)), TEST, "full") is fits


def test_a_function_outside_of_any_class_is_named_by_itself() -> None:
    alone = TestId(suite="upstream", file="test_a", cls="", name="test_f")
    assert plan.fits("test_a.py::test_f", alone)
    assert not plan.fits("test_a.py::test_g", alone)
    assert not plan.fits("test_a.py::TestA", alone)
