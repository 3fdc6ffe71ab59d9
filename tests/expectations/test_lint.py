"""Findings: each kind on one file of its own, at its line, and none on the shipped files."""

from datetime import date
from pathlib import Path

import pytest

from conformance.expectations import files, lint
from conformance.expectations.against import Plan, against
from conformance.expectations.entries import Conditions
from conformance.expectations.lint import Finding, Source
from conformance.outcomes import Outcome, TestId
from conformance.plan import Decision, Expected, PlannedTest

NOW = Conditions(release="", torch="2.13.0", today=date(2027, 1, 1))


def sources(tmp_path: Path, *texts: str) -> list[Source]:
    made = []
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.toml"
        path.write_text(text)
        made.append(lint.source(path, path.read_bytes()))
    return made


def entry(name: str, line: str = 'ops = ["add"]', section: str = "skip") -> str:
    return f'[[{section}]]\nid = "{name}"\nreason = "y"\n{line}\n'


def planned(op: str = "add", dtype: str = "float32", **more: object) -> PlannedTest:
    test = TestId(suite="ops", file="forward", cls=op, name=dtype, op=op, dtype=dtype, kind="forward")
    return PlannedTest(id=test, definition="1", **more)  # type: ignore[arg-type]


def told(found: list[Finding]) -> list[tuple[str, int, str, str]]:
    return [(each.word, each.line, each.entry, each.text) for each in found]


def by_plan(
    read: list[Source], tests: list[PlannedTest], releases: tuple[str, ...] = ("r1", "r2")
) -> tuple[list[tuple[str, int, str, str]], list[str]]:
    found, unchecked = against(read, Plan(tests=tests, releases=releases, torch="2.13.0", today=NOW.today, closed=True))
    return told(lint.ordered(found, read)), unchecked


MALFORMED = {
    '[[skip]]\nid = "x"\n[[skip': (3, "", "Expected"),
    '\n[[skip]]\nid = "x"\nops = ["a"]': (3, "x", "missing required field `reason`"),
    '[[skip]]\nid = "x"\nreason = "y"\nop = ["a"]': (2, "x", "unknown field `op`"),
    '[[skip]]\nreason = "y"': (1, "", "missing required field `id`"),
    '[[skip]]\nid = "x"\nreason = ""\nops = ["a"]': (2, "x", "has an empty reason"),
    '[[skip]]\nid = "x"\nreason = "y"\nowner = ""\nops = ["a"]': (2, "x", "has an empty owner"),
    '[[skip]]\nid = "x"\nreason = "y"': (2, "x", "matches every test"),
    'a = 1\n[[skips]]\nid = "x"': (1, "", "has the unknown part 'a'"),
    "skip = 3": (1, "", "Expected `object`"),
}


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_part_is_found_at_its_line(tmp_path: Path, text: str) -> None:
    found = lint.by_themselves(sources(tmp_path, text), NOW)
    line, name, part = MALFORMED[text]
    assert (found[0].word, found[0].line, found[0].entry) == ("malformed", line, name)
    assert part in found[0].text


def test_one_malformed_entry_hides_no_other(tmp_path: Path) -> None:
    read = sources(tmp_path, "[[skip]]\nid = 3\n" + entry("x", "expires = 2026-01-01\nops = ['add']"))
    assert [each.word for each in lint.by_themselves(read, NOW)] == ["malformed", "expired"]


def test_ids_and_questions_that_are_there_twice_are_found_across_files(tmp_path: Path) -> None:
    read = sources(tmp_path, entry("x") + entry("y"), entry("x", 'ops = ["sub"]'))
    assert told(lint.by_themselves(read, NOW)) == [
        ("duplicate", 6, "y", "says what 'x' at 0.toml:2 says"),
        ("duplicate", 2, "x", "its id is also that of 'x' at 0.toml:2"),
    ]


def test_an_entry_for_another_release_or_of_the_other_sort_is_no_duplicate(tmp_path: Path) -> None:
    other = 'ops = ["add"]\nreleases = ["r2"]'
    read = sources(tmp_path, entry("x") + entry("y", other) + entry("z", section="expect"))
    assert lint.by_themselves(read, NOW) == []


def test_entries_and_single_values_that_match_nothing_are_dead(tmp_path: Path) -> None:
    text = entry("x", 'ops = ["ad", "ab"]') + entry("y", 'ops = ["add", "addd"]\ndtypes = ["float32", "float99"]')
    assert by_plan(sources(tmp_path, text), [planned()])[0] == [
        ("dead", 2, "x", "matches none of the 1 planned tests of suite ops"),
        ("dead", 6, "y", "has 'addd' in ops, with which no planned test matches"),
        ("dead", 6, "y", "has 'float99' in dtypes, with which no planned test matches"),
    ]


def test_a_release_that_does_not_exist_is_dead(tmp_path: Path) -> None:
    found, _ = by_plan(sources(tmp_path, entry("x", 'ops = ["add"]\nreleases = ["r1", "r3"]')), [planned()])
    assert found == [("dead", 2, "x", "names the release 'r3': there is no such one")]


def test_what_a_plan_cannot_tell_is_not_called_dead(tmp_path: Path) -> None:
    read = sources(
        tmp_path,
        entry("a", 'tests = ["upstream::f::C::t"]') + entry("b", 'files = ["test_ops"]')
        + entry("c", 'kinds = ["test_out"]') + entry("d", 'ops = ["gone"]\ntorch = "<2"'),
    )  # fmt: skip
    assert by_plan(read, [planned()]) == ([], ["a", "b", "c", "d"])


def test_an_entry_that_others_or_pytorch_come_before_everywhere_is_shadowed(tmp_path: Path) -> None:
    ruled = planned("sub", decided=Decision(outcome=Outcome.SKIP_ELIGIBILITY, rule="ops:no-out"))
    foreseen = planned("mul", expected=Expected(rule="upstream:expected-failure"))
    text = entry("x", 'dtypes = ["float32"]') + entry("y") + entry("z", 'ops = ["sub"]')
    text += entry("w", 'ops = ["mul"]', "expect")
    found, _ = by_plan(sources(tmp_path, text.replace('["float32"]', '["float32"]\nops = ["add", "div"]')),
                       [planned(), planned("div"), ruled, foreseen])  # fmt: skip
    assert [(word, name) for word, _, name, _ in found] == [("shadowed", "y"), ("shadowed", "z"), ("shadowed", "w")]
    assert "'x' comes first" in found[0][3]
    assert "what PyTorch itself says comes first" in found[1][3]


def test_an_entry_that_is_reached_on_one_release_is_not_shadowed(tmp_path: Path) -> None:
    text = entry("x", 'ops = ["add"]\nreleases = ["r1"]') + entry("y")
    assert by_plan(sources(tmp_path, text), [planned()])[0] == []


@pytest.mark.parametrize(("mode", "does"), [("skip", "skips"), ("probe", "probes")])
def test_an_expectation_on_a_test_that_is_skipped_or_probed_contradicts_it(
    tmp_path: Path, mode: str, does: str
) -> None:
    read = sources(tmp_path, entry("x", f'ops = ["add"]\nmode = "{mode}"') + entry("y", section="expect"))
    (found,) = by_plan(read, [planned(), planned(dtype="int64")])[0]
    assert found[:3] == ("contradictory", 7, "y")
    assert found[3].startswith(f"expects the failure of 2 tests that 'x' {does}, as ops::forward::add::float32")


def test_the_shipped_files_are_in_order_by_themselves() -> None:
    shipped = sorted(files.FOLDER.glob("*.toml"))
    assert shipped
    assert lint.by_themselves([lint.source(path, path.read_bytes()) for path in shipped], NOW) == []
