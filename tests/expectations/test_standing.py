"""What a run showed of an entry, the edit that follows, and the edit made in the text of the file."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.expectations import blocks, editing, files, standing
from conformance.expectations.standing import Edit, Standing
from conformance.outcomes import Attempt, Outcome, TestId
from conformance.plan import Decision, Expected, PlannedTest, Selection
from conformance.record import Result

WHOLE = Selection(suites=("ops",))
P, F, C = Outcome.PASS, Outcome.FALLBACK, Outcome.SKIP_COVERAGE

TEXT = """# What is not claimed.

[[skip]]  # transforms
id = "fft"
reason = "a # is no comment in a string: [\\"x\\"]"
ops = [
    "fft.fft",  # "fft.ifft" is another one
    "fft.ifft", 'fft.rfft',
]
dtypes = ["float32", "complex64"]

# Known to be wrong.
[[expect]]
id = "wrong"
reason = "y"
ops = ["add"]

[[skip]]
id = "last"
reason = "z"
ops = ["qr"]
"""


def identity(op: str, dtype: str) -> TestId:
    return TestId(suite="ops", file="forward", cls=op, name=dtype, op=op, dtype=dtype, kind="forward")


def result(rule: str, op: str, dtype: str, outcome: Outcome) -> Result:
    probed = Decision(outcome=C, rule=rule) if rule.startswith("coverage:") else None
    expected = None if probed else Expected(rule=rule)
    test = PlannedTest(id=identity(op, dtype), definition="1", probed=probed, expected=expected)
    return Result(test=test, attempts=(Attempt(outcome=outcome),), outcome=outcome, flaky=False)


def of(tmp_path: Path, text: str, results: list[Result]) -> list[Standing]:
    path = tmp_path / "c.toml"
    path.write_text(text)
    return standing.standings(files.parse(path, path.read_bytes()), results)


def fft(outcomes: Mapping[tuple[str, str], Outcome]) -> list[Result]:
    return [result("coverage:fft", f"fft.{op}", dtype, outcome) for (op, dtype), outcome in outcomes.items()]


def edited(tmp_path: Path, found: list[Standing], selection: Selection = WHOLE) -> str:
    path = tmp_path / "c.toml"
    made = editing.apply(path, path.read_text(), [each.edit(selection) for each in found if each.stale])
    assert not made.undone
    return made.after


def test_an_entry_whose_tests_are_all_right_goes_with_the_comment_above_it(tmp_path: Path) -> None:
    (found,) = of(tmp_path, TEXT, [result("expect:wrong", "add", "float32", Outcome.XPASS)])
    assert found.wholly
    assert found.edit(WHOLE).sentence() == "remove the entry"
    after = edited(tmp_path, [found])
    assert "Known to be wrong" not in after
    assert [each["id"] for each in tomllib.loads(after)["skip"]] == ["fft", "last"]
    assert "\n\n\n" not in after


def test_a_value_goes_when_every_test_that_has_it_is_right_and_nothing_else_changes(tmp_path: Path) -> None:
    outcomes = {("fft", "float32"): P, ("fft", "complex64"): C, ("ifft", "float32"): F, ("ifft", "complex64"): P,
                ("rfft", "float32"): P, ("rfft", "complex64"): C}  # fmt: skip
    (found,) = of(tmp_path, TEXT, fft(outcomes))
    assert not found.wholly
    assert dict(found.outcomes) == {P: 3, F: 1}
    assert found.edit(WHOLE).sentence() == 'remove "float32" from dtypes; remove "fft.ifft" from ops'
    after = edited(tmp_path, [found])
    entry = tomllib.loads(after)["skip"][0]
    assert (entry["ops"], entry["dtypes"]) == (["fft.fft", "fft.rfft"], ["complex64"])
    assert '"fft.fft",  # "fft.ifft" is another one' in after


def test_stale_tests_that_no_shorter_list_sets_free_are_said_to_be_left(tmp_path: Path) -> None:
    outcomes = {("fft", "float32"): P, ("fft", "complex64"): C, ("ifft", "float32"): C, ("ifft", "complex64"): P}
    (found,) = of(tmp_path, TEXT, fft(outcomes))
    assert found.edit(WHOLE).narrowings == ()
    assert found.edit(WHOLE).sentence() == "2 tests cannot be set free by shortening a list: split the entry"


def test_part_of_a_profile_removes_no_more_than_it_ran(tmp_path: Path) -> None:
    (found,) = of(tmp_path, TEXT, fft({("fft", "float32"): P, ("fft", "complex64"): P}))
    asked = Selection(suites=("ops",), ops=("fft.fft",))
    assert found.edit(asked).sentence() == 'remove "fft.fft" from ops'
    for part in (Selection(suites=("ops",), keys=("k",)), Selection(suites=("ops",), shard="1/2")):
        assert found.edit(part).narrowings == ()
        assert found.edit(part).sentence() == "run the whole profile to see whether 2 tests can be set free"


def test_identities_go_one_by_one_whatever_else_the_run_left_out(tmp_path: Path) -> None:
    keys = [identity("add", dtype).key for dtype in ("a", "b", "c")]
    text = f'[[skip]]\nid = "x"\nreason = "y"\ntests = {keys}\n'.replace("'", '"')
    results = [result("coverage:x", "add", "a", P), result("coverage:x", "add", "b", C)]
    found = of(tmp_path, text, results)
    assert (
        tomllib.loads(edited(tmp_path, found, Selection(suites=("ops",), keys=("k",))))["skip"][0]["tests"] == keys[1:]
    )


def test_a_test_that_was_not_run_keeps_its_entry(tmp_path: Path) -> None:
    (found,) = of(tmp_path, TEXT, fft({("fft", "float32"): P, ("fft", "complex64"): Outcome.NOT_RUN}))
    assert not found.wholly
    assert found.edit(WHOLE).sentence() == 'remove "float32" from dtypes'


def test_entries_written_in_another_form_are_left_to_be_edited_by_hand(tmp_path: Path) -> None:
    text = 'skip = [{id = "x", reason = "y", ops = ["add"]}]\n'
    found = of(tmp_path, text, [result("coverage:x", "add", "float32", P)])
    edit = found[0].edit(WHOLE)
    made = editing.apply(tmp_path / "c.toml", text, [edit])
    assert (made.after, made.undone) == (text, (edit,))
    assert made.diff() == ""


def test_lines_are_counted_as_an_editor_counts_them() -> None:
    text = 'a = "\u2028\x85"\n\n[[skip]]\nreason = "y"\n  id = "x"\r\n[[skip]]\n[[expect]]\nid="z"'
    assert blocks.line_of(text, "skip", 0) == 5
    assert blocks.line_of(text, "skip", 1) == 6
    assert blocks.line_of(text, "expect", 0) == 8
    assert blocks.line_of(text, "expect", 9) == 1


WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6), unique=True, max_size=4)


@given(st.lists(WORDS.filter(bool), min_size=1, max_size=4), st.data())
def test_an_edit_of_any_text_changes_exactly_what_is_meant(lists: list[list[str]], data: st.DataObject) -> None:
    from conformance.expectations.entries import Entry
    from conformance.expectations.writing import text_of

    entries = [Entry(id=str(place), reason="r # [[skip]]", ops=tuple(each)) for place, each in enumerate(lists)]
    text = "\n".join(text_of("skip", each, ["remark"]) for each in entries)
    place = data.draw(st.integers(0, len(lists) - 1))
    gone = frozenset(data.draw(st.lists(st.sampled_from(lists[place]), max_size=2)))
    shorter = blocks.without_values(text, "skip", place, "ops", gone)
    assert shorter is not None
    wanted = [list(each) for each in lists]
    wanted[place] = [each for each in wanted[place] if each not in gone]
    assert [each["ops"] for each in tomllib.loads(shorter)["skip"]] == wanted
    without = blocks.without_block(text, "skip", place)
    assert without is not None
    kept = [each["id"] for each in tomllib.loads(without).get("skip", [])]
    assert kept == [str(each) for each in range(len(lists)) if each != place]


def test_an_edit_is_refused_when_the_text_would_not_say_what_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = of(tmp_path, TEXT, [result("expect:wrong", "add", "float32", Outcome.XPASS)])
    monkeypatch.setattr(blocks, "without_block", lambda text, section, place: "[[skip]]\n")
    made = editing.apply(tmp_path / "c.toml", TEXT, [found[0].edit(WHOLE)])
    assert made.after == TEXT
    assert isinstance(made.undone[0], Edit)
