"""Two stored runs side by side: the recorded pair, renames, selections, and what is never compared."""

from pathlib import Path

import pytest

from conformance import recorded
from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.pairs import PairClass
from conformance.plan import Decision, Selection
from conformance.renaming import Renames
from conformance.store import Comparison, Store, compare, diff_rows, ingest, named_groups, resolve
from tests.runs import Made, attempt, identity, make_run


def compared(store: Store, a: Path, b: Path, renames: Renames | None = None) -> Comparison:
    for each in (a, b):
        ingest(store, each)
    return compare(store, *(resolve(store, each.name).run for each in (a, b)), renames)


def classes(store: Store, found: Comparison) -> dict[str, PairClass]:
    rows = diff_rows(store, found, tuple(PairClass), limit=1_000).rows
    return {each.id.name: each.pair for each in rows}


def test_the_recorded_pair_shows_every_class_and_is_classed_as_it_says(store: Store, tmp_path: Path) -> None:
    found = compared(store, *recorded.write(tmp_path))
    said = {each["name"]: PairClass[each["class"].upper()] for each in recorded.described()["test"]}
    assert classes(store, found) == said
    assert set(said.values()) == set(PairClass)
    assert sum(found.counts.values()) == len(said)


def test_the_recorded_pair_is_labelled_simulated_and_made_up_and_has_a_rename_and_flaky_tests(
    store: Store, tmp_path: Path
) -> None:
    found = compared(store, *recorded.write(tmp_path))
    for run in (found.a, found.b):
        assert run.simulated
        assert run.flaky == 1
        assert run.environment["example"].startswith("made up")
    (renamed,) = (each for each in diff_rows(store, found, tuple(PairClass)).rows if each.renamed_from)
    assert (renamed.id.name, renamed.a.outcome) == ("forward.logsumexp.float32", Outcome.PASS)
    assert renamed.renamed_from.endswith("::forward.log_sum_exp.float32")


def test_the_recorded_pair_is_written_with_the_same_bytes_each_time(store: Store, tmp_path: Path) -> None:
    compared(store, *recorded.write(tmp_path / "one"))
    assert all(ingest(store, each).unchanged for each in recorded.write(tmp_path / "two"))


def test_rows_come_in_pages_that_together_are_all_of_them(store: Store, tmp_path: Path) -> None:
    found = compared(store, *recorded.write(tmp_path))
    whole = diff_rows(store, found, tuple(PairClass), limit=1_000)
    seen, after = [], -1
    while True:
        page = diff_rows(store, found, tuple(PairClass), after=after, limit=4)
        seen += page.rows
        if page.after is None:
            break
        after = page.after
    assert seen == whole.rows
    assert page.total == whole.total == len(seen)


def test_groups_name_the_cause_and_can_be_listed(store: Store, tmp_path: Path) -> None:
    names = [f"forward.op{number}.float32" for number in range(6)]
    before: dict[str, Made] = dict.fromkeys(names, Outcome.PASS)
    after: dict[str, Made] = {
        each: attempt(Outcome.FAIL, cause="A" if place < 4 else "B") for place, each in enumerate(names)
    }
    found = compared(store, make_run(tmp_path / "a", before), make_run(tmp_path / "b", after))
    groups = named_groups(store, found)
    assert [(each.group.pair, each.reason, each.group.count) for each in groups] == [
        (PairClass.REGRESSED, "A", 4),
        (PairClass.REGRESSED, "B", 2),
    ]
    page = diff_rows(store, found, [PairClass.REGRESSED], reason=groups[1].group.phrase)
    assert [each.id.name for each in page.rows] == names[4:]


def test_a_rename_is_followed_only_from_what_is_gone_to_what_is_new(store: Store, tmp_path: Path) -> None:
    pairs = (("old", "new"), ("both", "other"), ("x", "y"))
    renames = Renames(tests={identity(old).key: identity(new).key for old, new in pairs})
    a = make_run(tmp_path / "a", {"old": Outcome.PASS, "both": Outcome.PASS, "other": Outcome.PASS})
    b = make_run(tmp_path / "b", {"new": Outcome.FAIL, "other": Outcome.PASS, "x": Outcome.PASS})
    found = compared(store, a, b, renames)
    assert classes(store, found) == {
        "new": PairClass.REGRESSED, "both": PairClass.REMOVED, "other": PairClass.SAME, "x": PairClass.ADDED,
    }  # fmt: skip
    assert sum(found.counts.values()) == 4


def test_an_op_that_was_renamed_takes_all_its_tests_along(store: Store, tmp_path: Path) -> None:
    dtypes = ("float32", "int64")
    before: dict[str, Made] = {f"forward.old_name.{each}": Outcome.PASS for each in dtypes}
    after: dict[str, Made] = {f"forward.name.{each}": Outcome.PASS for each in dtypes}
    a = make_run(tmp_path / "a", before | {"forward.gone.int64": Outcome.PASS})
    found = compared(store, a, make_run(tmp_path / "b", after), Renames(ops={"old_name": "name"}))
    assert classes(store, found) == {
        "forward.name.float32": PairClass.SAME, "forward.name.int64": PairClass.SAME,
        "forward.gone.int64": PairClass.REMOVED,
    }  # fmt: skip
    rows = diff_rows(store, found, tuple(PairClass), limit=10).rows
    assert {each.renamed_from for each in rows} == {"", *(f"s::f.py::C::{each}" for each in before)}


def test_a_test_outside_the_other_selection_was_not_run_there_and_never_counts_as_gone(
    store: Store, tmp_path: Path
) -> None:
    everything: dict[str, Made] = {"forward.add.float32": Outcome.PASS, "forward.mul.float32": Outcome.PASS}
    whole = make_run(tmp_path / "whole", everything)
    part = make_run(
        tmp_path / "part", {"forward.add.float32": Outcome.PASS}, selection=Selection(suites=("s",), ops=("add",))
    )
    found = compared(store, whole, part)
    assert classes(store, found)["forward.mul.float32"] is PairClass.NOT_RUN_HERE
    smaller = make_run(tmp_path / "smaller", {"forward.add.float32": Outcome.PASS})
    found = compared(store, whole, smaller)
    assert classes(store, found)["forward.mul.float32"] is PairClass.REMOVED
    keyed = make_run(
        tmp_path / "keyed", {}, selection=Selection(suites=("s",), keys=(identity("forward.mul.float32").key,))
    )
    assert classes(store, compared(store, whole, keyed)) == {
        "forward.add.float32": PairClass.NOT_RUN_HERE, "forward.mul.float32": PairClass.REMOVED,
    }  # fmt: skip


def test_a_definition_or_an_environment_that_changed_comes_before_the_outcome(store: Store, tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", {"changed": Outcome.PASS, "lost": Outcome.PASS})
    b = make_run(
        tmp_path / "b", {"changed": Outcome.FAIL, "lost": attempt(Outcome.INVALID)}, definitions={"changed": "2"}
    )
    assert classes(store, compared(store, a, b)) == {
        "changed": PairClass.TEST_CHANGED, "lost": PairClass.ENVIRONMENT_CHANGED,
    }  # fmt: skip


def test_simulated_and_real_runs_are_never_compared(store: Store, tmp_path: Path) -> None:
    real = make_run(tmp_path / "real", {"a": Outcome.PASS}, target="trn2", simulated=False)
    sim = make_run(tmp_path / "sim", {"a": Outcome.PASS})
    with pytest.raises(UsageError, match="run sim is simulated and run real is of real hardware"):
        compared(store, sim, real)
    with pytest.raises(UsageError, match="never compared"):
        compared(store, real, sim)


def test_650_doctored_changes_in_ten_thousand_are_all_found(store: Store, tmp_path: Path) -> None:
    names = [f"forward.op{number}.float32" for number in range(10_000)]
    before: dict[str, Made] = dict.fromkeys(names, Outcome.PASS)
    after = dict(before)
    for name in names[:250]:
        after[name] = attempt(Outcome.SKIP_COVERAGE, cause="")
    for name in names[250:450]:
        del after[name]
    for name in names[450:550]:
        after[name] = attempt(Outcome.FAIL, cause="wrong")
    for number in range(100):
        after[f"forward.new{number}.float32"] = attempt(Outcome.FAIL, cause="wrong")
    found = compared(store, make_run(tmp_path / "a", before), make_run(tmp_path / "b", after))
    assert found.counts == {
        PairClass.SAME: 9_450, PairClass.LOST_COVERAGE: 250, PairClass.REMOVED: 200, PairClass.REGRESSED: 100,
        PairClass.ADDED: 100,
    }  # fmt: skip
    assert found.blocking == 350


SKIPPED = Decision(outcome=Outcome.SKIP_COVERAGE, rule="coverage:x", reason="not yet")
PROBED: dict[str, Made] = {
    "forward.a.f": Outcome.PASS,
    "forward.b.f": attempt(Outcome.FALLBACK, ops=["aten::b"]),
    "forward.c.f": Outcome.CRASH,
    "forward.d.f": Outcome.PASS,
}


def test_what_is_right_only_when_probed_is_the_same_beside_a_run_that_did_not_probe(
    store: Store, tmp_path: Path
) -> None:
    plain = {**dict.fromkeys(PROBED, SKIPPED), "forward.d.f": Outcome.FAIL}
    before = make_run(tmp_path / "before", plain)
    after = make_run(tmp_path / "after", PROBED, probed=dict.fromkeys(PROBED, SKIPPED))
    expected = {**dict.fromkeys(PROBED, PairClass.SAME), "forward.d.f": PairClass.FIXED}
    assert classes(store, compared(store, before, after)) == expected
    assert classes(store, compared(store, after, before)) == {**expected, "forward.d.f": PairClass.REGRESSED}


def test_two_runs_that_probed_are_compared_by_what_was_seen(store: Store, tmp_path: Path) -> None:
    probed = dict.fromkeys(PROBED, SKIPPED)
    before = make_run(tmp_path / "before", PROBED, probed=probed)
    after = make_run(tmp_path / "after", {**PROBED, "forward.a.f": Outcome.FAIL}, probed=probed)
    found = classes(store, compared(store, before, after))
    assert found == {**dict.fromkeys(PROBED, PairClass.SAME), "forward.a.f": PairClass.LOST_COVERAGE}
