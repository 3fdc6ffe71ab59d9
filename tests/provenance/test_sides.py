"""Both sides of an outcome in words: PyTorch's, and the rule or entry by which it has its word here."""

import re
from pathlib import Path

import pytest

from conformance.outcomes import Source
from conformance.provenance import rule_files, sides
from conformance.provenance.rules import Origin

PACKAGE = Path(sides.__file__).parents[1]


def test_every_origin_has_its_words() -> None:
    assert set(sides.WHO) == {each.value for each in Origin}


def test_every_rule_that_the_program_gives_has_its_meaning() -> None:
    # The gate's rules are settings with sentences of their own, not what decided a test.
    sources = [each for each in PACKAGE.rglob("*.py") if each.relative_to(PACKAGE).parts[0] != "gate"]
    written = "\n".join(each.read_text() for each in sources)
    given = set(re.findall(r"\brule=\"([a-z_:-]+)\"", written)) | {each.id for each in rule_files.every()}
    assert {"nothing-executed", "never-started", "upstream:slow"} <= given
    assert sorted(each for each in given if not sides.why(each)) == []


def test_a_rule_of_another_version_has_no_meaning_and_no_outcome_needs_one() -> None:
    found = sides.ours("from-the-future", "sim")
    assert found is not None
    assert (found.rule, found.why, found.file) == ("from-the-future", "", "")
    assert sides.ours("", "sim") is None


def test_an_entry_of_a_coverage_file_is_told_with_its_reason_and_file() -> None:
    found = sides.ours("coverage:geqrf", "sim")
    assert found is not None
    assert (found.file, found.reason) == ("sim.toml", "no longer claimed: linalg.qr does the same")
    assert "does not claim" in found.why
    gone = sides.ours("coverage:never-was", "sim")
    assert gone is not None
    assert gone.file == ""


def test_an_entry_of_the_user_s_own_file_is_found_and_a_broken_file_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(
        '[[skip]]\nid = "mine"\nreason = "ours"\nowner = "me"\nlink = "https://x.example/1"\nops = ["add"]\n'
    )
    monkeypatch.setenv("CONFORMANCE_EXPECTATIONS", str(own))
    found = sides.ours("coverage:mine", "sim")
    assert found is not None
    assert (found.file, found.owner, found.link) == ("mine.toml", "me", "https://x.example/1")
    own.write_text("[[skip")
    broken = sides.ours("coverage:mine", "sim")
    assert broken is not None
    assert broken.why
    assert broken.file == ""


def test_pytorch_s_side_names_who_what_and_where() -> None:
    source = Source(who="gate", code="onlyOn.__call__.<locals>.only_fn", where="test/test_a.py:3", turned="E")
    assert sides.theirs(source) == sides.Theirs(
        who="a guard of PyTorch's test harness", code="onlyOn.only_fn", where="test/test_a.py:3", turned="E"
    )
    assert sides.theirs(None) is None
    foreign = sides.theirs(Source(who="a later word"))
    assert foreign is not None
    assert foreign.who == "a later word"
