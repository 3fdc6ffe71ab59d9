"""Coverage files: exact matches, one entry's id in the rule, broken files refused in one sentence."""

from pathlib import Path

import pytest

from conformance import expectations
from conformance.errors import UsageError
from conformance.expectations import Coverage
from conformance.outcomes import Outcome, TestId
from conformance.plan import Expected


def case(op: str = "add", *, variant: str = "", dtype: str = "float32", kind: str = "forward") -> TestId:
    return TestId(suite="ops", file="", cls=kind, name=op, op=op, variant=variant, dtype=dtype, kind=kind)


def coverage(tmp_path: Path, text: str, release: str = "r1") -> Coverage:
    file = tmp_path / "coverage.toml"
    file.write_text(text)
    return expectations.of_file(file, release)


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


BROKEN = {
    '[[skip]]\nid = "x"\nops = ["add"]': "missing required field `reason`",
    '[[skip]]\nid = "x"\nops = ["add"]\nreason = " "': "entry 'x' of the coverage file .* has an empty reason",
    '[[skip]]\nid = "x"\nreason = "y"': "entry 'x' of the coverage file .* matches every test",
    '[[skip]]\nid = "x"\nop = ["add"]\nreason = "y"': "unknown field `op`",
    '[[skip]]\nid = "x"\nops = ["a"]\nreason = "y"\n[[expect]]\nid = "x"\nops = ["b"]\nreason = "y"': "'x' twice",
    "[[skip": "is broken",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_refused_in_one_sentence_that_names_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=BROKEN[text]) as caught:
        coverage(tmp_path, text)
    assert "coverage.toml" in str(caught.value)
    assert "\n" not in str(caught.value)
