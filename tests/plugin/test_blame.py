"""A process that dies or hangs in a test's set-up or tear-down, under plain pytest and under the supervisor: which
test is blamed, and where it was.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from conformance import record
from conformance.outcomes import Outcome, Stage
from conformance.record import Result, RunFolder
from tests.plugin.sessions import FILES, RELEASE, environment, session

DEATHS = str(FILES / "deaths.py")
BLAMED = {
    "TestDiesAround::test_a_right": (Outcome.UNPROVEN, Stage.EXECUTE),
    "TestDiesAround::test_b_dies_in_tear_down": (Outcome.CRASH, Stage.EXECUTE),
    "TestDiesAround::test_c_dies_in_set_up": (Outcome.CRASH, Stage.EXECUTE),
    "TestDiesAround::test_d_right": (Outcome.UNPROVEN, Stage.EXECUTE),
    "TestDiesWithItsClass::test_a_is_the_last": (Outcome.CRASH, Stage.TEARDOWN),
    "TestDiesAroundByFixtures::test_a_right": (Outcome.UNPROVEN, Stage.EXECUTE),
    "TestDiesAroundByFixtures::test_b_dies_in_tear_down": (Outcome.CRASH, Stage.TEARDOWN),
    "TestDiesAroundByFixtures::test_c_dies_in_set_up": (Outcome.CRASH, Stage.SETUP),
    "TestDiesAroundByFixtures::test_d_right": (Outcome.UNPROVEN, Stage.EXECUTE),
    "TestHangs::test_b_right": (Outcome.UNPROVEN, Stage.EXECUTE),
}
"""unittest sets up and tears down inside what pytest calls the body, so that its deaths are in stage execute."""


def ending(results: dict[str, Result]) -> dict[str, tuple[Outcome, Stage]]:
    return {name: (each.outcome, each.shown.stage) for name, each in results.items()}


@pytest.mark.slow
def test_under_two_workers_of_pytest_the_test_that_was_being_set_up_or_torn_down_is_blamed(tmp_path: Path) -> None:
    # One class: each death costs a new worker with torch in it.
    done = session(tmp_path, "-n", "2", DEATHS, "-k", "TestDiesAroundByFixtures")
    assert ending(done.results()) == {name: each for name, each in BLAMED.items() if "ByFixtures" in name}


@pytest.mark.slow
def test_under_the_supervisor_the_same_tests_are_blamed_and_a_hanging_tear_down_ends_at_its_limit(
    tmp_path: Path,
) -> None:
    program = str(Path(sys.executable).with_name("conformance"))
    chosen = ["--target", "sim", "--release", RELEASE, "--suite", "upstream", "--tests", DEATHS, "--timeout", "6"]
    subprocess.run(
        [program, "run", *chosen, "-n", "2", "--no-ingest"], check=True, cwd=FILES.parents[1], capture_output=True,
        env=environment(tmp_path / "home") | {"SECONDS_TO_HANG": "600"},
    )  # fmt: skip
    (path,) = (tmp_path / "home" / "runs").iterdir()
    found = {each.test.key.split("::", 2)[2]: each for each in record.read_results(RunFolder(path=path))}
    assert ending({name: found[name] for name in BLAMED}) == BLAMED
    assert {each.shown.rule for each in found.values() if each.outcome is Outcome.CRASH} == {"died"}
    assert {each.attempts[-1].rule for each in found.values() if each.outcome is Outcome.CRASH} == {"died-alone"}
    hung = found["TestHangs::test_a_hangs_in_tear_down"]
    assert (hung.outcome, hung.shown.stage) == (Outcome.TIMEOUT, Stage.TEARDOWN)
