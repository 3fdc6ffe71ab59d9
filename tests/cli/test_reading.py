"""runs, show and explain: data on stdout, remarks on stderr, denominators everywhere, hostile text harmless."""

import csv
import io
import json
from pathlib import Path

import pytest

from conformance.cli.screen import paragraph, percent, safe
from conformance.outcomes import Outcome
from conformance.plan import Decision
from conformance.store import Store, ingest
from tests.conftest import Command
from tests.runs import Made, attempt, make_run

HOSTILE = "x\x1b]0;owned\x07\x1b[2J\u202eevil\u2028\ud7ff"
RESULTS: dict[str, Made] = {
    "forward.add.float32": Outcome.PASS,
    "forward.mul.float32": attempt(Outcome.FAIL, cause="c", message=HOSTILE, detail="line one\n\x1b[31mline two"),
    "out.add.float32": Decision(outcome=Outcome.SKIP_ELIGIBILITY, rule="no-out", reason="has no out="),
    f"backward.{HOSTILE}.float32": None,
}


@pytest.fixture
def stored(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "old", {"forward.mul.float32": Outcome.PASS}, release="sim-0.9"))
    ingest(store, make_run(tmp_path / "r1", RESULTS, started=1.7e9 + 60))


def harmless(text: str) -> bool:
    return not any(each in text for each in "\x1b\x07\u202e\u2028")


@pytest.mark.usefixtures("stored")
def test_runs_lists_what_is_stored_newest_first(command: Command) -> None:
    said = command("runs")
    assert said.code == 0
    assert [line.split()[0] for line in said.out.splitlines()] == ["run", "r1", "old"]
    assert "33.3 % (1 of 3)" in said.out
    assert "incomplete" in said.out
    (one,) = json.loads(command("runs", "--release", "sim-1.0", "--format", "json").out)["runs"]
    assert one["planned"] == sum(one["outcomes"].values()) == 4
    assert (one["sealed"], one["simulated"]) == (False, True)


def test_runs_without_a_run_says_how_to_get_one(command: Command) -> None:
    said = command("runs")
    assert (said.code, said.out) == (0, "")
    assert "conformance run --target sim" in said.err


@pytest.mark.usefixtures("stored")
def test_show_gives_every_share_its_denominator_and_adds_up_to_the_plan(command: Command) -> None:
    said = command("show", "r1")
    assert said.code == 0
    assert "simulated" in said.out
    assert "pass / eligible:              33.3 % (1 of 3)" in said.out
    assert "incomplete: 1 tests have not run" in said.out
    document = json.loads(command("show", "r1", "--format", "json").out)
    assert sum(document["outcomes"].values()) == document["planned"] == 4
    assert sum(each["planned"] for each in document["kinds"]) == 4
    assert document["environment"] == {"torch": "2.13.0"}


@pytest.mark.usefixtures("stored")
def test_show_prints_every_test_as_lines_or_cells(command: Command) -> None:
    lines = [json.loads(line) for line in command("show", "r1", "--format", "ndjson").out.splitlines()]
    assert sorted(each["outcome"] for each in lines) == ["fail", "not_run", "pass", "skip_eligibility"]
    cells = list(csv.DictReader(io.StringIO(command("show", "r1", "--format", "csv", "--op", "add").out)))
    assert all(each["simulated"] for each in lines)
    assert all(each["simulated"] == "1" for each in cells)
    assert [(each["outcome"], each["rule"]) for each in cells] == [("pass", ""), ("skip_eligibility", "no-out")]
    listed = command("show", "r1", "--outcomes", "fail,crash")
    assert "forward.mul.float32" in listed.out
    assert "1 of 1 tests" in listed.err


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("form", ["table", "json", "ndjson", "csv"])
def test_hostile_text_never_reaches_the_terminal(command: Command, form: str) -> None:
    said = command("show", "r1", "--format", form)
    assert said.code == 0
    assert harmless(said.out + said.err)
    assert harmless(command("show", "r1", "--outcomes", "fail,not_run").out)
    assert harmless(command("explain", "forward.mul").out)


@pytest.mark.usefixtures("stored")
def test_explain_tells_what_decided_what_was_before_and_the_traceback(command: Command) -> None:
    said = command("explain", "forward.mul")
    assert said.code == 0
    assert "since run old (sim-0.9): regressed" in said.out
    assert "line one\n\\x1b[31mline two" in said.out
    document = json.loads(command("explain", "forward.mul", "--format", "json").out)
    assert (document["outcome"], document["since_the_run_before"]["class"]) == ("fail", "regressed")
    assert [each["run"] for each in document["history"]] == ["r1", "old"]
    assert [each["seconds"] for each in document["attempts"]] == [{"setup": 0.001, "execute": 0.5}]
    older = json.loads(command("explain", "forward.mul", "--run", "old", "--format", "json").out)
    assert (older["outcome"], older["since_the_run_before"]) == ("pass", None)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "nothing"), "neither a stored run nor a release"),
        (("show", "r1", "--outcomes", "fial"), "unknown outcome 'fial'"),
        (("explain", "nothing-like-it"), "no stored run planned a test like"),
        (("explain", "add.float32"), "is part of several tests"),
        (("explain", "out.add", "--run", "old"), "run old did not plan"),
        (("runs", "--limit", "0"), "Invalid value for '--limit'"),
        (("show",), "Missing argument"),
    ],
)
def test_a_wrong_name_is_one_sentence_and_exit_code_2(command: Command, arguments: tuple[str, ...], said: str) -> None:
    done = command(*arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.rstrip().endswith("(exit 2: usage)")


def test_a_database_that_is_down_is_exit_code_4(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:hunter2@127.0.0.1:1/x")
    done = command("runs")
    assert done.code == 4
    assert "hunter2" not in done.err


def test_text_is_made_safe_and_cut_and_a_share_of_nothing_is_no_number() -> None:
    assert safe("a\tb\r\n\x9b") == "a\\tb\\r\\n\\x9b"
    assert safe("täglich 日本") == "täglich 日本"
    assert safe("abcdef", 4) == "abc…"
    assert paragraph("a\x00\nb") == "a\\x00\nb"
    assert percent(0, 0) == "–"


def test_a_filter_without_runs_is_not_taken_for_an_empty_store(command: Command, store: Store, tmp_path: Path) -> None:
    assert "no run is stored: start with" in command("runs").err
    ingest(store, make_run(tmp_path / "r", {"x": Outcome.PASS}))
    for filters in (("--target", "moon"), ("--release", "nope")):
        said = command("runs", *filters)
        assert said.code == 0
        assert "no stored run fits: 'conformance runs' lists them all" in said.err


@pytest.mark.parametrize("arguments", [("runs",), ("show", "r"), ("diff", "r", "r")])
def test_a_limit_beyond_any_number_of_rows_is_no_fault_of_the_database(
    command: Command, store: Store, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    ingest(store, make_run(tmp_path / "r", {"x": Outcome.PASS}))
    assert command(*arguments, "--limit", str(10**20)).code in (0, 2)
