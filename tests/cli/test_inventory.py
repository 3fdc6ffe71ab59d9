"""`conformance inventory`: shares with their denominators, runs from store or folder, hostile names harmless."""

import json
from pathlib import Path

import pytest

from conformance.outcomes import Outcome
from conformance.store import Store, ingest
from tests.conftest import Command
from tests.runs import Made, make_run
from tests.store.test_inventories import RESULTS, took, with_survey

HOSTILE = "x\x1b]0;owned\x07\x1b[2J\u202eevil"


@pytest.fixture
def stored(store: Store, tmp_path: Path) -> None:
    later: dict[str, Made] = {**RESULTS, "backward.sort.int8": took(Outcome.PASS, f"aten::sort {HOSTILE}")}
    for name, results in (("r1", RESULTS), ("r2", later)):
        ingest(store, with_survey(tmp_path / name, results).path)


@pytest.mark.usefixtures("stored")
def test_the_summary_gives_every_share_its_denominator_and_its_limits(command: Command) -> None:
    said = command("inventory", "r1")
    assert said.code == 0
    assert "run r1: sim-1.0 on sim — simulated, not real hardware" in said.out
    assert "4 aten overloads of torch 2.13.0; left out are 126 of other namespaces (prims 126, …)" in said.out
    assert "tests that ran and tell which ops they took: 100.0 % (3 of 3)" in said.out
    assert "the run is incomplete: 1 tests have not run" in said.out
    assert "1 names of the trackers are no aten overload: strange" in said.out
    assert "tested: 25.0 % (1 of 4)" in said.out
    assert "4 of 4 overloads listed" in said.err
    document = json.loads(command("inventory", "r1", "--format", "json").out)
    assert sum(document["statuses"].values()) == sum(document["registrations"].values()) == document["overloads"] == 4
    assert (document["simulated"], document["tests_told"], document["tests_not_run"]) == (True, 3, 1)


@pytest.mark.usefixtures("stored")
def test_an_overload_is_told_with_its_tests_by_outcome(command: Command) -> None:
    (line,) = command("inventory", "r1", "--op", "sin", "--format", "ndjson").out.splitlines()
    told = json.loads(line)
    assert (told["overload"], told["status"], told["registration"]) == ("aten::sin", "only_failing", "kernel")
    assert (told["tests"], told["outcomes"], told["by_fallback"]) == (2, {"fail": 1, "crash": 1}, 0)
    listed = command("inventory", "r1", "--status", "tested,only_failing", "--registration", "kernel", "--limit", "1")
    assert "1 of 3 overloads listed" in listed.err
    assert "aten::add.Tensor" in listed.out
    assert "aten::sort" not in listed.out


@pytest.mark.usefixtures("stored")
def test_without_a_name_the_newest_stored_run_is_shown_and_named(command: Command) -> None:
    assert "the newest stored run is r2" in command("inventory").err


@pytest.mark.usefixtures("stored")
def test_two_runs_are_told_by_what_changed(command: Command) -> None:
    said = command("inventory", "r1", "r2")
    assert said.code == 0
    assert "1 overloads have another status in B" in said.out
    assert said.out.splitlines()[-1].split() == ["never_tested", "tested", "aten::sort"]
    document = json.loads(command("inventory", "r1", "r2", "--format", "json").out)
    assert document["moves"] == [{"from": "never_tested", "to": "tested", "overloads": 1}]
    assert document["listed"] == [{"overload": "aten::sort", "from": "never_tested", "to": "tested"}]
    assert not command("inventory", "r1", "r2", "--op", "sin", "--format", "ndjson").out


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("form", ["table", "json", "ndjson"])
def test_hostile_names_never_reach_the_terminal(command: Command, form: str) -> None:
    said = command("inventory", "r2", "--format", form)
    assert said.code == 0
    assert not set("\x1b\x07\u202e") & set(said.out + said.err)


def test_a_folder_is_told_without_a_database(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = with_survey(tmp_path / "r1", RESULTS)
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/x")
    said = command("inventory", str(folder.path))
    assert said.code == 0
    assert "tested: 25.0 % (1 of 4)" in said.out


def test_a_run_without_an_inventory_is_inconclusive(command: Command, store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "old", {"a": Outcome.PASS}))
    for name in ("old", str(tmp_path / "old")):
        said = command("inventory", name)
        assert (said.code, said.out) == (3, "")
        assert "run old has no inventory: nothing asked the dispatcher before it" in said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no run is stored: start one with 'conformance run', or ask a target with --target"),
        (("nothing",), "neither a stored run nor a release"),
        (("--status", "tested,tseted"), "unknown status 'tseted': choose from tested, fell_back"),
        (("--registration", "kernels"), "unknown registration 'kernels': choose from kernel, composite_implicit"),
        (("--release", "sim-1.0"), "--release belongs to --target"),
        (("r1", "--target", "sim"), "leave the RUN out, or --target"),
        (("--target", "moon"), "unknown target 'moon'"),
        (("--target", "sim", "--release", "sim-9"), "unknown release 'sim-9'"),
    ],
)
def test_a_wrong_name_is_one_sentence_and_exit_code_2(command: Command, arguments: tuple[str, ...], said: str) -> None:
    done = command("inventory", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.slow
def test_a_target_is_asked_without_a_run_and_nothing_is_left(command: Command, tmp_path: Path) -> None:
    said = command("inventory", "--target", "sim", "--release", "sim-1.0", "--op", "add", "--format", "json")
    assert said.code == 0, said.err
    document = json.loads(said.out)
    assert document["overloads"] == sum(document["registrations"].values()) > 3_000
    assert (document["target"], document["release"], document["simulated"]) == ("sim", "sim-1.0", True)
    assert "statuses" not in document
    assert {"overload": "aten::add.Tensor", "registration": "kernel"} in document["listed"]
    assert not list((tmp_path / "home").rglob("overloads.json"))
