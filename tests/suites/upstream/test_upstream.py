"""Suite `upstream` plans what pytest collects and ends every test as plain pytest does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from conformance import inventory, plan, record, suites
from conformance.errors import UsageError
from conformance.outcomes import Outcome, TestId
from conformance.plan import RunHeader, Selection
from conformance.record import RunFolder
from tests.plugin.sessions import FILES, RELEASE, command_line, environment, session

ANSWERS, SKIPS, RULES = (str(FILES / f"{name}.py") for name in ("answers", "skips", "opinfo_rules"))


def select(*tests: str) -> Selection:
    return Selection(suites=("upstream",), tests=tests)


def test_without_files_the_remedy_is_named() -> None:
    with pytest.raises(UsageError, match="give --tests FILE"):
        list(suites.get("upstream").collect(select(), "sim", RELEASE))


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match=r"there is no test file 'nowhere\.py'"):
        list(suites.get("upstream").collect(select("nowhere.py"), "sim", RELEASE))


@pytest.mark.slow
def test_a_test_that_ends_pytest_and_one_that_is_gone_have_their_outcomes_and_the_rest_go_on(tmp_path: Path) -> None:
    selection = select(str(FILES / "faults.py"))
    found = [each for each in suites.get("upstream").collect(selection, "sim", RELEASE) if each.id.cls == "TestEnds"]
    gone = replace(found[0], id=TestId(suite="upstream", file=found[0].id.file, cls="TestEnds", name="test_gone"))
    folder = RunFolder(path=tmp_path / "run")
    header = RunHeader(
        run="r",
        target="sim",
        release=RELEASE,
        simulated=True,
        selection=selection,
        plan_digest="",
        planned=4,
        started=0,
    )
    folder.create(header, [*found, gone])
    subprocess.run(
        [sys.executable, "-m", "tests.suites.upstream.child", str(folder.path)], check=True, cwd=FILES.parents[1],
        env=environment(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert {each.test.id.name: (each.outcome, each.shown.rule) for each in record.read_results(folder)} == {
        "test_a_right": (Outcome.PASS, ""),
        "test_b_ends_pytest": (Outcome.ERROR, "ended-pytest"),
        "test_c_waits": (Outcome.PASS, ""),
        "test_gone": (Outcome.INVALID, "test-gone"),
    }


@pytest.mark.slow
def test_a_supervised_run_and_plain_pytest_on_two_workers_end_every_test_alike(tmp_path: Path) -> None:
    plain = session(tmp_path / "plain", "-n", "2", ANSWERS, SKIPS)
    program = str(Path(sys.executable).with_name("conformance"))
    chosen = ["--target", "sim", "--release", RELEASE, "--suite", "upstream", "--tests", ANSWERS, "--tests", SKIPS]
    done = subprocess.run(
        [program, "run", *chosen, "-n", "2", "--no-ingest", "--format", "json"],
        env=environment(tmp_path / "home"), cwd=FILES.parents[1], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "home" / "runs").iterdir()
    supervised = record.read_results(RunFolder(path=path))
    assert json.loads(done.stdout)["planned"] == len(supervised)

    def ending(results: list[record.Result]) -> dict[str, tuple[object, ...]]:
        return {
            each.test.key: (each.outcome, each.shown.rule, each.shown.ran_on, each.shown.stage, each.shown.fallback_ops)
            for each in results
        }

    assert ending(supervised) == ending(record.read_results(plain.folder))
    inventories = [inventory.of_folder(each) for each in (plain.folder, RunFolder(path=path))]
    assert inventories[0] is not None
    assert inventories[0].tells
    assert inventories[0] == inventories[1]
    assert [each.test.definition for each in supervised] == [
        each.test.definition for each in record.read_results(plain.folder)
    ]


@pytest.mark.slow
def test_every_skip_that_is_settled_while_planning_is_the_one_that_would_have_been_raised(tmp_path: Path) -> None:
    written = tmp_path / "plan.jsonl"
    subprocess.run(
        command_line("--collect-only", "--conformance-plan", str(written), RULES, SKIPS), check=True,
        env=environment(tmp_path), cwd=FILES.parents[1], stdout=subprocess.DEVNULL,
    )  # fmt: skip
    seen = {each.test.key: each for each in record.read_results(session(tmp_path, RULES, SKIPS).folder)}
    planned = plan.read(written)
    assert {each.key for each in planned} == seen.keys()
    settled = {each.key: each.decided for each in planned if each.decided is not None}
    assert len(settled) > 80
    assert settled == {
        key: plan.Decision(
            outcome=seen[key].outcome, rule=seen[key].shown.rule, reason=seen[key].shown.message,
            source=seen[key].shown.source,
        )
        for key in settled
    }  # fmt: skip
    opinfo = [each for each in seen.values() if "opinfo_rules" in each.test.key]
    assert not [each.test.key for each in opinfo if each.test.key not in settled and each.outcome.word[:4] == "skip"]
    # OpInfo's own decorators skip in every way there is; the coverage file comes after all of them.
    rules = {each.shown.rule for each in opinfo}
    assert rules > {"upstream:opinfo", "upstream:opinfo-expected-failure", "upstream:device-gate", "upstream:slow"}
    assert any(each.startswith("coverage:") for each in rules)
