"""Coverage files: exact matches, one entry's id in the rule, broken files refused in one sentence."""

import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from conformance import expectations
from conformance.errors import UsageError
from conformance.expectations import Coverage
from conformance.outcomes import Outcome, TestId
from conformance.plan import Decision, Expected


def case(op: str = "add", *, variant: str = "", dtype: str = "float32", kind: str = "forward") -> TestId:
    return TestId(suite="ops", file="", cls=kind, name=op, op=op, variant=variant, dtype=dtype, kind=kind)


def coverage(
    tmp_path: Path, text: str, release: str = "r1", *, torch: str = "2.13.0", day: date = date(2027, 1, 1)
) -> Coverage:
    file = tmp_path / "coverage.toml"
    file.write_text(text)
    return expectations.of_file(file, release, torch=torch, day=day)


def test_a_skip_names_its_entry_and_reason(tmp_path: Path) -> None:
    decision = coverage(tmp_path, '[[skip]]\nid = "no-add"\nops = ["add"]\nreason = "not yet"').decide(case())
    assert decision is not None
    assert (decision.outcome, decision.rule, decision.reason) == (Outcome.SKIP_COVERAGE, "coverage:no-add", "not yet")


def test_an_expectation_names_its_entry(tmp_path: Path) -> None:
    found = coverage(tmp_path, '[[expect]]\nid = "bad"\nops = ["add"]\nkinds = ["backward"]\nreason = "known"')
    assert found.expect(case(kind="backward")) == Expected(rule="expect:bad", reason="known")
    assert found.expect(case()) is None
    assert found.decide(case(kind="backward")) is None


def test_matches_are_exact_and_never_by_substring(tmp_path: Path) -> None:
    found = coverage(tmp_path, '[[skip]]\nid = "x"\nops = ["add", "linalg.norm.nuc"]\nreason = "y"')
    assert found.decide(case("add"))
    assert found.decide(case("add", variant="other"))
    assert found.decide(case("linalg.norm", variant="nuc"))
    for test in (case("addmm"), case("ad"), case("add."), case("linalg.norm"), case("linalg.norm", variant="nucl")):
        assert found.decide(test) is None


def test_every_list_that_is_given_must_match(tmp_path: Path) -> None:
    text = '[[skip]]\nid = "x"\nops = ["add"]\ndtypes = ["float16"]\nkinds = ["out"]\nvariants = ["v"]\nreason = "y"'
    found = coverage(tmp_path, text)
    assert found.decide(case(variant="v", dtype="float16", kind="out"))
    for test in (case(variant="v", dtype="float16"), case(dtype="float16", kind="out"), case(variant="v", kind="out")):
        assert found.decide(test) is None


def test_the_entry_that_is_written_first_holds(tmp_path: Path) -> None:
    text = '[[skip]]\nid = "all"\ndtypes = ["float32"]\nreason = "y"\n[[skip]]\nid = "op"\nops = ["add"]\nreason = "z"'
    decision = coverage(tmp_path, text).decide(case())
    assert decision is not None
    assert decision.rule == "coverage:all"


def test_an_entry_holds_for_its_releases(tmp_path: Path) -> None:
    text = '[[skip]]\nid = "x"\nops = ["add"]\nreleases = ["r1"]\nreason = "y"'
    assert coverage(tmp_path, text, "r1").decide(case())
    assert coverage(tmp_path, text, "r2").decide(case()) is None


def test_dead_entries_are_named(tmp_path: Path) -> None:
    text = '[[skip]]\nid = "x"\nops = ["add"]\nreason = "y"\n[[expect]]\nid = "typo"\nops = ["ad"]\nreason = "z"'
    assert coverage(tmp_path, text).dead([case(), case("sub")]) == ("typo",)


def test_a_target_without_a_file_claims_everything() -> None:
    assert expectations.load("cpu", "installed") == Coverage()


def test_an_entry_of_identities_files_or_classes_matches_these_alone(tmp_path: Path) -> None:
    one = TestId(suite="upstream", file="test_ops", cls="TestCommon", name="test_out_add_float32", op="add")
    for line in (f'tests = ["{one.key}"]', 'files = ["test_ops"]', 'classes = ["TestCommon"]'):
        found = coverage(tmp_path, f'[[skip]]\nid = "x"\n{line}\nreason = "y"')
        assert found.decide(one), line
        for other in (replace(one, file="test_op", cls="Common", name="test_out"), case()):
            assert found.decide(other) is None, line


def test_ten_thousand_identities_cost_no_more_than_a_few(tmp_path: Path) -> None:
    tests = [TestId(suite="upstream", file="f", cls="C", name=f"test_{number}") for number in range(10_000)]
    found = coverage(tmp_path, f'[[skip]]\nid = "x"\nreason = "y"\ntests = {[each.key for each in tests]}')
    began = time.perf_counter()
    assert all(found.decide(each) for each in tests)
    assert time.perf_counter() - began < 2


def test_an_expired_entry_does_not_hold_from_its_day_on_and_is_told(tmp_path: Path) -> None:
    text = '[[skip]]\nid = "x"\nops = ["add"]\nreason = "y"\nexpires = 2027-03-01'
    assert coverage(tmp_path, text, day=date(2027, 2, 28)).decide(case())
    over = coverage(tmp_path, text, day=date(2027, 3, 1))
    assert over.decide(case()) is None
    assert [each.id for each in over.expired] == ["x"]


def test_an_entry_holds_for_its_range_of_torch_versions(tmp_path: Path) -> None:
    text = '[[expect]]\nid = "x"\nops = ["add"]\nreason = "y"\ntorch = ">=2.13,<2.14"'
    assert coverage(tmp_path, text, torch="2.13.0+cpu").expect(case())
    assert coverage(tmp_path, text, torch="2.13.1a0").expect(case())
    for other in ("2.12.1", "2.14.0"):
        assert coverage(tmp_path, text, torch=other).expect(case()) is None


def test_a_probing_entry_is_not_decided_and_its_tests_are_not_claimed(tmp_path: Path) -> None:
    found = coverage(tmp_path, '[[skip]]\nid = "x"\nops = ["add"]\nreason = "y"\nmode = "probe"')
    assert found.decide(case()) is None
    assert found.probed(case()) == Decision(outcome=Outcome.SKIP_COVERAGE, rule="coverage:x", reason="y")
    assert not found.claims(case())
    assert found.claims(case("sub"))
    assert found.probed(case("sub")) is None


def test_an_expectation_says_what_kind_of_failure_it_foresees(tmp_path: Path) -> None:
    text = '[[expect]]\nid = "x"\nops = ["add"]\nreason = "y"\noutcome = "error"\nexception = "E"\ncode = "C"'
    wanted = Expected(rule="expect:x", reason="y", outcome=Outcome.ERROR, exception="E", code="C")
    assert coverage(tmp_path, text).expect(case()) == wanted


BROKEN = {
    '[[skip]]\nid = "x"\nops = ["add"]': "missing required field `reason`",
    '[[skip]]\nid = "x"\nops = ["add"]\nreason = " "': "entry 'x' of the coverage file .* has an empty reason",
    '[[skip]]\nid = "x"\nreason = "y"': "entry 'x' of the coverage file .* matches every test",
    '[[skip]]\nid = "x"\nop = ["add"]\nreason = "y"': "unknown field `op`",
    '[[skip]]\nid = "x"\nops = ["a"]\nreason = "y"\n[[expect]]\nid = "x"\nops = ["b"]\nreason = "y"': "'x' twice",
    "[[skip": "is broken",
    '[[skip]]\nid = "x"\nops = ["a"]\nreason = "y"\nowner = ""': "has an empty owner",
    '[[skip]]\nid = "x"\nops = ["a", " "]\nreason = "y"': "has an empty name in one of its lists",
    '[[skip]]\nid = "x"\nops = ["a"]\nreason = "y"\ntorch = "new"': "has the torch range 'new'",
    '[[skip]]\nid = "x"\nops = ["a"]\nreason = "y"\nmode = "maybe"': "Invalid enum value 'maybe'",
    '[[skip]]\nid = "x"\nops = ["a"]\nreason = "y"\noutcome = "fail"': "is a skip and has outcome",
    '[[expect]]\nid = "x"\nops = ["a"]\nreason = "y"\nmode = "probe"': "is an expectation and has a mode",
    '[[expect]]\nid = "x"\nops = ["a"]\nreason = "y"\noutcome = "pass"': "expects the outcome 'pass'",
    '[[skip]]\nid = "x"\nops = ["a"]\nreason = "y"\nexpires = "soon"': "Invalid RFC3339 encoded date",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_refused_in_one_sentence_that_names_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=BROKEN[text]) as caught:
        coverage(tmp_path, text)
    assert "coverage.toml" in str(caught.value)
    assert "\n" not in str(caught.value)
