"""Exports: other tools read them, totals are the plan's, foreign text stays text, and nothing is cut in silence."""

import json
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest
from junitparser import JUnitXml

from conformance.exports import badge, junit, markdown
from conformance.exports.plain import fit_for_xml
from conformance.outcomes import Outcome
from conformance.pairs import BLOCKING
from conformance.plan import Decision
from conformance.store import Store, ingest, resolve
from tests.conftest import Command
from tests.runs import Made, attempt, make_run

HOSTILE = "\x1b[31m\0<b>]]>&\ud800'\"\u202e\n::error::x |`@you` [a](http://b) =1"


@pytest.fixture
def hostile(command: Command, tmp_path: Path) -> Path:
    tests: dict[str, Made] = {
        each.word: attempt(each, message=HOSTILE, detail=HOSTILE * 50, cause=HOSTILE, ops=["aten::sin"])
        for each in Outcome
        if each is not Outcome.NOT_RUN
    }
    tests |= {
        "never": None,
        "skipped": Decision(outcome=Outcome.SKIP_COVERAGE, rule="coverage:x", reason=HOSTILE.replace("\ud800", "")),
        "name " + HOSTILE.replace("\0", "").replace("\ud800", ""): Outcome.FAIL,
    }
    folder = make_run(tmp_path / "hostile", tests)
    assert command("ingest", str(folder)).code == 0
    return tmp_path


def exported(command: Command, what: str, form: str, out: Path, *more: str) -> str:
    said = command("export", what, "--as", form, "--out", str(out), *more)
    assert said.code == 0, said.err
    return out.read_text(encoding="utf-8")


def test_junit_holds_every_planned_test_once_and_only_what_passed_is_passed(command: Command, hostile: Path) -> None:
    exported(command, "hostile", "junit", hostile / "out.xml")
    whole = JUnitXml.fromfile(str(hostile / "out.xml"))
    cases = [case for suite in whole for case in suite]
    words = {
        case.name: {each.get("name"): each.get("value") for each in case._elem.iter("property")}["outcome"]
        for case in cases
    }
    assert len(cases) == len(words) == whole.tests == len(Outcome) + 2
    assert [words[case.name] for case in cases if case.is_passed] == ["pass"]
    told = Counter(each.tag for case in cases for each in case._elem if each.tag != "properties")
    assert (told["failure"], told["error"], told["skipped"]) == (whole.failures, whole.errors, whole.skipped)
    assert words["never"] == "not_run"
    assert all(
        each.get("type") == words[case.name] for case in cases for each in case._elem if each.tag != "properties"
    )


def test_the_words_and_junits_kinds_cover_every_outcome() -> None:
    found = {each: junit.element_of(each) for each in Outcome}
    assert [each for each, kind in found.items() if not kind] == [Outcome.PASS]
    assert set(found.values()) == {"", "skipped", "failure", "error"}
    assert {each for each, kind in found.items() if kind == "skipped"} == {
        Outcome.FALLBACK, Outcome.UNPROVEN, Outcome.XFAIL, Outcome.SKIP_ELIGIBILITY, Outcome.SKIP_ENVIRONMENT,
        Outcome.SKIP_COVERAGE, Outcome.SKIP_UNCLASSIFIED, Outcome.INVALID,
    }  # fmt: skip


def test_a_traceback_that_is_too_long_says_how_much_is_left_out(command: Command, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "long", {"t": attempt(Outcome.FAIL, detail="\x1b" * 16_384)})
    assert command("ingest", str(folder)).code == 0
    text = exported(command, "long", "junit", tmp_path / "long.xml")
    (failure,) = ET.fromstring(text).iter("failure")
    assert failure.text is not None
    assert failure.text.startswith("\\x1b\\x1b")


def test_what_xml_cannot_hold_is_written_as_an_escape() -> None:
    assert fit_for_xml("a\x00\x1b\ufffe\ud800\tb") == "a\\x00\\x1b\\ufffe\\ud800\tb"
    ET.fromstring(f"<a>{fit_for_xml(''.join(map(chr, range(32))))}</a>".replace("\\", ""))


def test_a_summary_holds_no_markup_of_others_and_counts_what_it_has_no_room_for(
    command: Command, hostile: Path
) -> None:
    whole = exported(command, "hostile", "markdown", hostile / "out.md")
    assert "Simulation" in whole
    assert not any(each in whole for each in ("<b>", "@you", "::error", "](http", "\x1b", "\u202e"))
    rows = [line for line in whole.splitlines() if line.startswith("| ")]
    assert all(line.count("|") in (5, 4, 6) for line in rows), rows
    small = exported(command, "hostile", "markdown", hostile / "small.md", "--max-bytes", "2000")
    assert len(small.encode()) <= 2_000 or "more lines are left out" in small
    assert "more lines are left out" in small


def test_names_stay_readable_and_are_never_emphasis() -> None:
    assert markdown.cell("test_out__refs_fft_a*b") == "test_out&#95;&#95;refs_fft_a&#42;b"
    assert markdown.cell("__init__") == "&#95;&#95;init&#95;&#95;"


def test_needed_lines_stay_and_further_ones_are_counted() -> None:
    text = markdown.fitted(["head"], (f"line {each}" for each in range(1_000)), 1_000)
    assert text.startswith("head\nline 0\n")
    assert len(text.encode()) <= 1_000
    kept = text.count("line ")
    assert f"*{1_000 - kept:,} more lines are left out: a summary holds 1,000 bytes.*" in text


def test_a_badge_names_its_denominator_and_is_grey_without_one(store: Store, tmp_path: Path) -> None:
    tests: dict[str, Made] = {f"t{each}": Outcome.PASS for each in range(1_999)}
    ingest(store, make_run(tmp_path / "whole", tests | {"f": Outcome.FAIL}))
    assert badge.of_run(resolve(store, "whole").run) == {
        "schemaVersion": 1, "label": "sim sim-1.0 (simulated)", "message": "99.9% of 2,000 eligible pass",
        "color": "brightgreen",
    }  # fmt: skip
    ingest(store, make_run(tmp_path / "half", {"a": Outcome.PASS, "b": None}))
    assert badge.of_run(resolve(store, "half").run)["message"] == "incomplete"
    ingest(store, make_run(tmp_path / "none", {"a": Outcome.INVALID}))
    assert badge.of_run(resolve(store, "none").run)["isError"] is True


def test_sarif_has_the_regressions_alone_and_markdown_the_same_number(command: Command, tmp_path: Path) -> None:
    assert command("ingest", "--example").code == 0
    log = json.loads(exported(command, "example-1.0..example-1.1", "sarif", tmp_path / "out.sarif"))
    (run,) = log["runs"]
    document = json.loads(command("diff", "example-1.0", "example-1.1", "--format", "json").out)
    blocking = {pair.word: document["classes"][pair.word] for pair in BLOCKING if pair.word in document["classes"]}
    assert Counter(each["ruleId"] for each in run["results"]) == blocking
    assert run["properties"]["regressions"] == len(run["results"]) == sum(blocking.values())
    assert {each["ruleId"] for each in run["results"]} <= {each["id"] for each in run["tool"]["driver"]["rules"]}
    text = exported(command, "example-1.0..example-1.1", "markdown", tmp_path / "out.md")
    assert f"**{sum(blocking.values())}** of {document['tests']} tests are of a class that blocks" in text
    assert f"causes, {sum(blocking.values())} tests" in text


def test_what_a_form_does_not_take_is_refused_and_a_full_disk_leaves_the_old_file(
    command: Command, tmp_path: Path
) -> None:
    assert command("ingest", "--example").code == 0
    said = command("export", "example-1.0", "--as", "sarif")
    assert (said.code, said.err.splitlines()[-1]) == (
        2, "conformance: 'example-1.0' cannot be exported as sarif: name two, as sim-1.0..sim-1.1 (exit 2: usage)",
    )  # fmt: skip
    assert command("export", "example-1.0..example-1.1", "--as", "badge").code == 2
    said = command("export", "example-1.0", "--as", "junit", "--out", str(tmp_path / "no" / "such.xml"))
    assert said.code == 4
    assert "cannot be written: No such file or directory" in said.err
