"""Coverage entries under probing and foreseen deaths, with processes that really die, hang and lose their device."""

import json
import time

import pytest

from conformance.outcomes import Outcome
from tests.faults.harness import Done, Lab

SKIPS = """
[[skip]]
id = "alive"
ops = ["pass", "fail"]
reason = "not yet"

[[skip]]
id = "deadly"
ops = ["segv", "hang", "flakycrash", "infra"]
reason = "it dies"
"""
EXPECTS = """
[[expect]]
id = "dies"
ops = ["segv"]
outcome = "crash"
reason = "known"

[[expect]]
id = "wrong"
ops = ["fail", "infraonce"]
outcome = "error"
reason = "known"

[[expect]]
id = "gone"
ops = ["pass", "abort"]
reason = "known"
"""


def told(lab: Lab, text: str, name: str = "own.toml") -> str:
    path = lab.path / name
    path.write_text(text)
    return str(path)


def document(done: Done) -> dict[str, object]:
    assert done.code == 0, done.err
    return done.document


def test_probing_tells_what_happened_and_leaves_the_totals_as_they_were(lab: Lab) -> None:
    lab.plan("pass-0", "pass-1", "fail-0", "segv-0", "hang-0", "flakycrash-0", "infra-0", "sleep-0")
    path = told(lab, SKIPS)
    plain = document(lab.run("-n", "2", "--expectations", path))
    assert plain["outcomes"] == {"pass": 1, "skip_coverage": 7}
    probed = document(lab.run("-n", "2", "--expectations", path, "--probe-coverage", "--timeout", "1"))
    assert probed["outcomes"] == {"pass": 3, "skip_coverage": 5}
    assert probed["flaky"] == 0
    assert probed["eligible"] == plain["eligible"] == 8
    results = lab.results()
    says = {name: each.shown.message.partition("\n")[2] for name, each in results.items()}
    assert says["fail-0"] == "probed: fail: AssertionError: 1 is not 2"
    assert says["segv-0"].startswith("probed: crash: the process was killed by SIGSEGV in stage execute")
    assert says["hang-0"].startswith("probed: timeout: killed in stage execute after more than 1 s")
    assert says["infra-0"].startswith("probed: infra")
    assert {results[name].shown.rule for name in ("segv-0", "hang-0", "infra-0")} == {"coverage:deadly"}
    attempts = {name: [each.outcome for each in result.attempts] for name, result in results.items()}
    assert attempts["segv-0"] == [Outcome.CRASH, Outcome.CRASH]
    assert attempts["flakycrash-0"] == [Outcome.CRASH, Outcome.PASS]
    stale = probed["stale_entries"]
    assert isinstance(stale, list)
    assert [(each["rule"], each["place"], each["stale"], each["edit"]) for each in stale] == [
        ("coverage:alive", "own.toml:3", 2, 'remove "pass" from ops')
    ]


@pytest.mark.slow
def test_a_foreseen_death_is_an_expected_failure_and_one_of_another_kind_is_not(lab: Lab) -> None:
    lab.plan("segv-0", "abort-0", "fail-0", "infraonce-0", "pass-0")
    done = document(lab.run("-n", "1", "--expectations", told(lab, EXPECTS)))
    assert lab.outcomes() == {
        "segv-0": "xfail", "abort-0": "crash", "fail-0": "fail", "infraonce-0": "xpass", "pass-0": "xpass"
    }  # fmt: skip
    assert "not the failure that expect:wrong foresees: that is error" in lab.results()["fail-0"].shown.message
    assert done["entries_tried"] == 3


@pytest.mark.slow
def test_a_resumed_run_takes_its_expectations_from_the_record_and_refuses_others(lab: Lab) -> None:
    lab.plan("pass-0", "segv-0", "pause-0")
    path = told(lab, SKIPS + EXPECTS.replace('"segv"', '"sleep"').replace('"pass", ', ""))
    running = lab.start("run", "--target", "fake", "--suite", "fake", "--no-ingest", "-n", "1", "--expectations", path,
                        "--probe-coverage")  # fmt: skip
    until = time.monotonic() + 30
    while not (lab.folders() and lab.results()["segv-0"].attempts) and time.monotonic() < until:
        time.sleep(0.1)
    running.terminate()
    running.communicate(timeout=30)
    run = lab.folders()[0]
    header = run.read_header()
    assert header.environment["expectations.files"] == path
    assert header.environment["expectations.probe"] == "yes"
    refused = lab.run("--resume", run.path.name, "--probe-coverage")
    assert (refused.code, "--probe-coverage cannot be given with --resume" in refused.last) == (2, True)
    (lab.path / "own.toml").write_text(SKIPS)
    changed = lab.run("--resume", run.path.name)
    assert changed.code == 2
    assert "its expectation files was" in changed.last
    told(lab, SKIPS + EXPECTS.replace('"segv"', '"sleep"').replace('"pass", ', ""))
    going = lab.start("run", "--resume", run.path.name, "--no-ingest")
    until = time.monotonic() + 30
    while not (run.journals / "002-supervisor.jsonl").exists() and time.monotonic() < until:
        time.sleep(0.1)
    going.terminate()
    _, err = going.communicate(timeout=30)
    assert "going on, 3 tests planned" in err


@pytest.mark.parametrize(
    ("text", "part"),
    [("[[skip]]\nid = 1", "is broken"), ('[[skip]]\nid = "x"\nreason = ""\nops = ["pass"]', "has an empty reason")],
)
def test_a_broken_file_is_refused_before_anything_starts(lab: Lab, text: str, part: str) -> None:
    lab.plan("pass-0")
    done = lab.run("--expectations", told(lab, text))
    assert done.code == 2
    assert part in done.last
    assert not lab.folders()


def test_files_are_taken_from_the_variable_too_and_an_expired_entry_is_told(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.plan("pass-0", "fail-0")
    path = told(lab, SKIPS.replace('reason = "not yet"', 'reason = "not yet"\nexpires = 2027-01-01'))
    monkeypatch.setenv("CONFORMANCE_EXPECTATIONS", path)
    monkeypatch.setenv("CONFORMANCE_EXPECTATIONS_DAY", "2026-12-31")
    assert lab.run("-n", "1").document["outcomes"] == {"skip_coverage": 2}
    monkeypatch.setenv("CONFORMANCE_EXPECTATIONS_DAY", "2027-01-01")
    table = lab.call("run", "--target", "fake", "--suite", "fake", "--no-ingest", "-n", "1")
    assert lab.outcomes() == {"pass-0": "pass", "fail-0": "fail"}
    assert "expired, and not in force since 2027-01-01: alive (own.toml:3)" in table.out


@pytest.mark.slow
def test_update_proposes_new_failures_that_lint_refuses_until_they_are_filled_in(lab: Lab) -> None:
    lab.plan("pass-0", "fail-0", "fail-1", "segv-0", "flakycrash-0", "abort-0")
    path = told(lab, EXPECTS.split("\n\n")[2] + "\n")
    document(lab.run("-n", "1", "--expectations", path))
    run = lab.folders()[-1].path.name
    shown = lab.call("expectations", "update", "--from", run)
    assert shown.code == 0, shown.err
    assert shown.out.startswith(f"--- {path}\n+++ {path}\n")
    assert "+# 2 tests: AssertionError: N is not N\n+[[expect]]" in shown.out
    assert "expect:gone: 1 crash that it does not foresee" in shown.err
    assert "1 flaky failure left out" in shown.err
    assert 'ops = ["pass", "abort"]' in (lab.path / "own.toml").read_text()
    assert lab.call("expectations", "update", "--from", run, "--write").code == 0
    refused = lab.call("expectations", "lint", path, "--format", "json")
    assert refused.code == 1
    found = [(each["kind"], each["text"]) for each in json.loads(refused.out)["findings"]]
    assert ("malformed", "has an empty reason: say why") in found
    assert ("malformed", "has an empty owner: say who looks after it") in found
    assert lab.run("--expectations", path).code == 2
    text = (lab.path / "own.toml").read_text()
    (lab.path / "own.toml").write_text(text.replace('reason = ""', 'reason = "r"').replace('owner = ""', 'owner = "o"'))
    assert lab.call("expectations", "lint", path).code == 0
    again = document(lab.run("-n", "1", "--expectations", path))
    assert lab.outcomes() == {
        "pass-0": "pass", "fail-0": "xfail", "fail-1": "xfail", "segv-0": "xfail", "flakycrash-0": "pass",
        "abort-0": "crash",
    }  # fmt: skip
    assert again["stale_entries"] == []
