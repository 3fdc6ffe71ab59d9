"""Bad input is one sentence on stderr, exit 2, and leaves nothing behind."""

import json
import shutil
from dataclasses import replace

import pytest

from tests.faults.harness import Lab, many

FAKE = ("run", "--target", "fake", "--suite", "fake")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("run", "--target", "moon"), "unknown target 'moon'"),
        (("run",), "--target is missing"),
        (("run", "--target", "fake", "--suite", "fake", "--release", "fake-9"), "unknown release 'fake-9'"),
        (("run", "--target", "fake", "--suite", "tea"), "unknown suite 'tea'"),
        (("run", "--target", "fake", "--suite", "fake", "--ops", "frobnicate"), "unknown op 'frobnicate'"),
        (("run", "--target", "fake", "--suite", "fake", "--fail-on", "sorrow"), "unknown outcome 'sorrow'"),
        (("run", "--target", "fake", "--frobnicate"), "--frobnicate"),
        (("run", "--target", "fake", "-n", "0"), "0"),
        (("run", "--target", "fake", "--timeout", "soon"), "soon"),
        (("run", "--resume", "nothing"), "there is no run 'nothing'"),
        (("run", "--target", "fake", "--suite", "fake", "--ops", ""), "--ops is given without a value"),
        (("run", "--target", "fake", "--suite", "fake", "--ops", " , "), "--ops is given without a value"),
        (("run", "--target", "fake", "--suite", ""), "--suite is given without a value"),
        (("run", "--target", "fake", "--tests", ""), "--tests is given without a value"),
        (("run", "--target", "fake", "--suite", "fake", "--fail-on", ""), "--fail-on is given without a value"),
        (("run", "--target", "fake", "--suite", "fake", "--resume", ""), "--resume is given without a value"),
        (("run", "--target", "fake", "--suite", "fake", "--failed-of", ""), "--failed-of is given without a value"),
        (("run", "--target", "fake", "--suite", "fake", "--release", ""), "--release is given without a value"),
        (("repro", "upstream::f::c::x", "--target", "fake", "--sample", "1"), "--sample 1 picks an input of suite ops"),
        (("repro", "fake::f::c::gone", "--target", "fake"), "there is no test 'fake::f::c::gone' in suite fake"),
        (("show",), "`conformance show --help`"),
        (("frobnicate",), "`conformance --help`"),
        (("run", "--failed-of", "x", "--target", "fake"), "--target cannot be given with --failed-of"),
        (("run", "--resume", "nothing", "--target", "fake"), "nothing"),
        (("repro", "fake::f::c::x[a::b]", "--target", "fake"), "there is no test 'fake::f::c::x[a::b]' in suite fake"),
        (("repro", "add"), "there is no run in"),
        (("targets", "moon"), "unknown target 'moon'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(lab: Lab, arguments: tuple[str, ...], part: str) -> None:
    lab.plan("pass-0")
    done = lab.call(*arguments)
    assert done.code == 2, done.err
    assert part in done.last
    assert done.last.endswith("(exit 2: usage)")
    assert done.out == ""
    assert "Traceback" not in done.err
    assert not lab.folders()


def test_an_address_that_cannot_be_one_is_refused_before_anything_runs(lab: Lab) -> None:
    lab.plan("pass-0")
    done = replace(lab, database_url="nonsense").call(*FAKE)
    assert done.code == 2
    assert "DATABASE_URL is not a URL" in done.last
    assert not lab.folders()


def test_a_dry_run_shows_the_plan_and_writes_nothing(lab: Lab) -> None:
    lab.plan(*many("pass", 3), "skip-0", "segv-0")
    done = lab.call(*FAKE, "--dry-run", "--format", "json")
    assert done.code == 0, done.err
    assert done.document["planned"] == 5
    assert done.document["decided"] == {"skip_coverage": 1}
    assert done.document["to_run"] == 4
    assert not (lab.path / "home").exists()
    assert not (lab.state / "activations").exists()
    lines = lab.call(*FAKE, "--dry-run", "--format", "ndjson").out.splitlines()
    assert [json.loads(line).get("decided") for line in lines] == [None, None, None, "skip_coverage", None]
    assert "total" in lab.call(*FAKE, "--dry-run").out


def test_ndjson_has_one_line_a_planned_test_and_nothing_else_on_stdout(lab: Lab) -> None:
    lab.plan("pass-0", "fail-0", "skip-0", "segv-0")
    done = lab.call(*FAKE, "--no-ingest", "--format", "ndjson", "-n", "1")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [each["outcome"] for each in lines] == ["pass", "fail", "skip_coverage", "crash"]
    assert all({"id", "outcome", "rule", "ran_on", "stage", "seconds", "message"} <= each.keys() for each in lines)
    assert all(each["simulated"] is True for each in lines)
    assert lines[2]["rule"] == "coverage:x"


def test_the_table_adds_up_and_says_that_it_is_a_simulation(lab: Lab) -> None:
    lab.plan(*many("pass", 3), "fail-0", "skip-0")
    done = lab.call(*FAKE, "--no-ingest", "-n", "1")
    assert done.code == 0, done.err
    assert "SIMULATION" in done.out
    assert "pass / eligible: 3 / 5 = 60.0 %" in done.out
    assert "(pass + fallback) / eligible: 3 / 5 = 60.0 %" in done.out
    assert f"conformance show {lab.folders()[0].path.name}" in done.out


def test_fail_on_makes_the_exit_code_1_only_when_such_a_test_exists(lab: Lab) -> None:
    lab.plan("pass-0", "fail-0")
    assert lab.run("--fail-on", "crash,error").code == 0
    done = lab.run("--fail-on", "crash,fail")
    assert done.code == 1
    assert "1 fail" in done.last
    assert done.last.endswith("(exit 1: regression)")


def test_failed_of_runs_again_what_failed_and_nothing_else(lab: Lab) -> None:
    lab.plan("pass-0", "fail-0", "flakycrash-0", "skip-0")
    assert lab.run("-n", "1").code == 0
    done = lab.run("--failed-of", lab.folders()[0].path.name, "-n", "1")
    assert done.code == 0, done.err
    assert done.document["planned"] == 2
    assert lab.outcomes() == {"fail-0": "fail", "flakycrash-0": "pass"}
    assert not lab.folders()[1].read_header().selection.whole


def test_failed_of_a_run_in_which_nothing_failed_is_one_sentence(lab: Lab) -> None:
    lab.plan(*many("pass", 3), "skip-0")
    lab.run()
    done = lab.run("--failed-of", lab.folders()[0].path.name)
    assert done.code == 2
    assert "nothing failed in run" in done.last
    assert len(lab.folders()) == 1


def test_only_runs_the_tests_of_a_list_whatever_they_came_to_and_refuses_one_that_the_run_lacks(lab: Lab) -> None:
    lab.plan("pass-0", "fail-0", "skip-0")
    assert lab.run("-n", "1").code == 0
    run, file = lab.folders()[0].path.name, lab.path / "list"
    file.write_text("fake::f::c::pass-0\n\n")
    assert lab.run("--only", str(file)).code == 2
    done = lab.run("--failed-of", run, "--only", str(file), "-n", "1")
    assert done.code == 0, done.err
    assert lab.outcomes() == {"pass-0": "pass"}
    file.write_text("fake::f::c::pass-0\nfake::f::c::other\n")
    refused = lab.run("--failed-of", run, "--only", str(file))
    assert refused.code == 2
    assert "1 of the listed tests are not in run" in refused.last
    assert "fake::f::c::other" in refused.last


@pytest.mark.slow
def test_failed_of_takes_a_stored_run_whose_folder_is_gone(lab: Lab) -> None:
    lab.plan("pass-0", "fail-0")
    assert lab.call(*FAKE, "-n", "1").code == 0
    run = lab.folders()[0].path
    shutil.rmtree(run)
    done = lab.run("--failed-of", run.name, "-n", "1")
    assert done.code == 0, done.err
    assert lab.outcomes() == {"fail-0": "fail"}
    assert "neither a stored run" in lab.run("--failed-of", "nothing").last


def test_repro_runs_one_test_alone_and_prints_the_command(lab: Lab) -> None:
    lab.plan("pass-0", "fail-0", "fail-1")
    assert lab.run("-n", "1").code == 0
    done = lab.call("repro", "fail-1")
    assert done.code == 0, done.err
    assert "conformance repro fake::f::c::fail-1 --target fake --release fake-2" in done.err
    assert "AssertionError: 1 is not 2" in done.out
    assert done.out.strip().endswith("outcome: fail")
    assert len(lab.folders()) == 1, "a reproduction is no run"
    done = lab.call("repro", "fail")
    assert done.code == 2
    assert "fits 2 tests" in done.last


def test_targets_lists_what_is_needed_and_its_json_says_the_same(lab: Lab) -> None:
    lab.plan("pass-0")
    done = lab.call("targets", "--format", "json")
    assert done.code == 0
    names = {each["name"]: each for each in json.loads(done.out)["targets"]}
    assert names["sim"]["simulated"]
    assert names["fake"]["ready"]
    assert all(check["present"] or check["remedy"] for each in names.values() for check in each["checks"])
    assert "SIMULATION" in lab.call("targets").out
