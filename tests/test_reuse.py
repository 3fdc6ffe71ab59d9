"""Outcomes taken over from earlier runs: only for tests that nothing has changed for, and always marked."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance import attribution, reuse
from conformance.outcomes import Attempt, Outcome, Reached
from conformance.plan import Decision, Expected, PlannedTest, RunHeader
from conformance.record import RunFolder, read_attempts, read_results
from conformance.reuse import Reused
from conformance.store import Filter, Store, ingest, outcome_rows, resolve
from conformance.summary import Summary
from tests.modelled import entry, facts, identity, make_models, signature
from tests.runs import attempt

ONE, TWO = signature("aaaaaaaaaaaa"), signature("bbbbbbbbbbbb")
FIRST, SECOND = identity(ONE), identity(TWO)
PRINTS = {"code": "c1", "torch": "2.13", "plan": "p1", "device.name": "d"}
FACTS = {"package.transformers": "5.24", "workers": "2", "machine.kernel": "k", "variable.NEURON_X": "1"}


def run(folder: Path, **more: Any) -> RunFolder:
    """A run of both signatures, one of which fell back."""
    made = {FIRST: attempt(Outcome.FALLBACK, ops=("aten::sort",), reached=Reached(fallback=frozenset({"aten::sort"}))),
            SECOND: attempt(Outcome.FAIL, message="worst 0.5")}  # fmt: skip
    more = {"results": made, "fingerprint": PRINTS, "environment": FACTS, "told": [facts(FIRST), facts(SECOND)], **more}
    entries = [entry("org/one", ONE["id"]), entry("org/two", TWO["id"])]
    return RunFolder(path=make_models(folder, [ONE, TWO], entries, **more))


def header(earlier: RunFolder, **more: Any) -> RunHeader:
    """A run that is about to start, as the earlier one but for what is told."""
    return msgspec.structs.replace(earlier.read_header(), **{"run": "now", **more})


PLAN = [PlannedTest(id=each, definition="1") for each in (FIRST, SECOND)]


def taken(folder: Path, now: RunHeader, tests: list[PlannedTest] = PLAN) -> dict[str, Reused]:
    return {each.key: each for each in reuse.find(folder, now, tests)}


def test_what_nothing_has_changed_for_is_taken_over_with_the_run_that_made_it(tmp_path: Path) -> None:
    now = header(run(tmp_path / "r1"), fingerprint={**PRINTS, "plan": "p2"}, environment={**FACTS, "workers": "1"})
    found = taken(tmp_path, now)
    assert set(found) == {FIRST.key, SECOND.key}
    assert all(each.attempt.reused == "r1" for each in found.values())
    assert found[FIRST.key].attempt.fallback_ops == ("aten::sort",)


@pytest.mark.parametrize(
    "change",
    [
        {"release": "sim-1.0"}, {"target": "cpu"}, {"simulated": False}, {"fingerprint": {**PRINTS, "code": "c2"}},
        {"fingerprint": {**PRINTS, "rules": "new"}}, {"environment": {**FACTS, "package.transformers": "5.25"}},
        {"environment": {**FACTS, "variable.NEURON_X": "2"}}, {"environment": {**FACTS, "option.extend": "on"}},
        {"run": "r1"},
    ],
)  # fmt: skip
def test_another_release_device_code_package_or_variable_takes_nothing_over(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    assert not taken(tmp_path, header(run(tmp_path / "r1"), **change))


def test_another_definition_expectation_or_decision_of_a_test_is_another_test(tmp_path: Path) -> None:
    now = header(run(tmp_path / "r1"))
    skip = Decision(outcome=Outcome.SKIP_COVERAGE, rule="coverage:x")
    for changed in (
        PlannedTest(id=FIRST, definition="2"),
        PlannedTest(id=FIRST, definition="1", expected=Expected(rule="expect:x")),
        PlannedTest(id=FIRST, definition="1", probed=skip),
        PlannedTest(id=FIRST, definition="1", decided=skip),
        PlannedTest(id=identity(ONE, "train"), definition="1"),
        PlannedTest(id=replace(FIRST, suite="ops"), definition="1"),
    ):
        assert not taken(tmp_path, now, [changed])


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.COMPILE_TIMEOUT, Outcome.CRASH, Outcome.INFRA, None])
def test_what_chance_had_a_part_in_is_run_again(tmp_path: Path, outcome: Outcome | None) -> None:
    now = header(run(tmp_path / "r1", results={FIRST: outcome, SECOND: Outcome.PASS}))
    assert set(taken(tmp_path, now)) == {SECOND.key}


def test_the_newest_run_that_has_a_test_is_taken_and_the_first_to_make_it_is_named(tmp_path: Path) -> None:
    run(tmp_path / "r1", results={FIRST: Outcome.PASS, SECOND: Outcome.PASS})
    newer = run(tmp_path / "r2", started=1_700_000_100.0,
                results={FIRST: Attempt(outcome=Outcome.FAIL, reused="r0"), SECOND: None})  # fmt: skip
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    found = taken(tmp_path, header(newer))
    assert {key: (each.attempt.outcome, each.attempt.reused) for key, each in found.items()} == {
        FIRST.key: (Outcome.FAIL, "r0"), SECOND.key: (Outcome.PASS, "r1"),
    }  # fmt: skip


def test_what_is_taken_over_is_recorded_counted_and_stored_as_such(store: Store, tmp_path: Path) -> None:
    earlier = run(tmp_path / "runs" / "r1")
    (earlier.path / "models" / "calls-7.jsonl").write_text('{"e":"call"}\n')
    now = run(tmp_path / "now", results={FIRST: None, SECOND: Outcome.PASS}, told=[])
    reuse.write(now, list(taken(tmp_path / "runs", header(earlier), PLAN[:1]).values()))

    done = Summary(header=now.read_header(), results=read_results(now))
    assert (done.counts, done.reused) == ({Outcome.FALLBACK: 1, Outcome.PASS: 1}, {"r1": 1})
    assert done.origins == {"ran": 1, "reused": 1, "settled while planning": 0, "not run": 0}
    assert done.seconds["execute"] == 0.5
    assert read_attempts(now).reach

    models = attribution.read(now.path)
    assert models is not None
    assert [each.key for each in models.facts] == [FIRST.key]
    assert (now.path / "models" / "calls-reused-1-7.jsonl").exists()

    ingest(store, now.path)
    rows = outcome_rows(store, resolve(store, "now").run, Filter()).rows
    assert {each.key: each.reused for each in rows} == {FIRST.key: "r1", SECOND.key: ""}
