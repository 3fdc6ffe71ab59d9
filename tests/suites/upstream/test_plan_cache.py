"""A kept plan is used as long as nothing that made it has changed, and never after."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.outcomes import TestId
from conformance.plan import PlannedTest
from conformance.suites import plan_cache
from conformance.suites.plan_cache import PlanCache

PLAN = [
    PlannedTest(id=TestId(suite="upstream", file="a", cls="TestA", name=f"test_{each}"), definition=str(each))
    for each in range(3)
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "test"
    folder.mkdir()
    (folder / "a.py").write_text("import near\n")
    (folder / "near.py").write_text("x = 1\n")
    return folder


@pytest.fixture
def cache(tmp_path: Path, tree: Path) -> PlanCache:
    made = PlanCache(folder=tmp_path / "plans", made_by="now")
    made.store(tree / "a.py", PLAN, [str(tree / "near.py")])
    return made


def test_what_was_kept_is_found_again(cache: PlanCache, tree: Path) -> None:
    assert cache.load(tree / "a.py") == PLAN


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: (tree / "a.py").write_text("import near  # edited\n"),
        lambda tree: (tree / "near.py").write_text("x = 2\n"),
        lambda tree: (tree / "near.py").unlink(),
        lambda tree: (tree / "conftest.py").write_text("collect_ignore = []\n"),
        lambda tree: (tree.parent / "pytest.ini").write_text("[pytest]\n"),
    ],
    ids=["the file", "a helper beside it", "a helper that is gone", "a conftest that is new", "an ini file above"],
)
def test_a_change_of_anything_that_was_loaded_or_obeyed_is_seen(
    cache: PlanCache, tree: Path, change: Callable[[Path], object]
) -> None:
    change(tree)
    assert cache.load(tree / "a.py") is None


@pytest.mark.parametrize("broken", [b"", b"{}", b"\xff\xfe", b'{"depends": {}, "body": "0"}\n[]'])
def test_a_broken_entry_is_none(cache: PlanCache, tree: Path, broken: bytes) -> None:
    (entry,) = cache.folder.iterdir()
    entry.write_bytes(broken)
    assert cache.load(tree / "a.py") is None


def test_an_entry_that_was_cut_short_is_none(cache: PlanCache, tree: Path) -> None:
    (entry,) = cache.folder.iterdir()
    entry.write_bytes(entry.read_bytes()[:-20])
    assert cache.load(tree / "a.py") is None


def test_what_was_made_otherwise_is_not_taken(cache: PlanCache, tree: Path) -> None:
    assert PlanCache(folder=cache.folder, made_by="later").load(tree / "a.py") is None


def test_the_oldest_are_forgotten(cache: PlanCache, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_cache, "MOST_KEPT", 2)
    for name in ("b.py", "c.py", "d.py"):
        (tree / name).write_text(name)
        cache.store(tree / name, PLAN, [])
    assert len(list(cache.folder.glob("*.plan"))) == 2
    assert cache.load(tree / "d.py") == PLAN


def test_a_folder_that_cannot_be_written_costs_no_more_than_time(tmp_path: Path, tree: Path) -> None:
    (tmp_path / "plain").write_text("")
    refused = PlanCache(folder=tmp_path / "plain" / "plans", made_by="now")
    refused.store(tree / "a.py", PLAN, [])
    assert refused.load(tree / "a.py") is None


def test_release_target_variables_and_expectations_make_other_plans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = plan_cache.made_by("sim", "sim-1.1")
    assert now == plan_cache.made_by("sim", "sim-1.1")
    assert now != plan_cache.made_by("sim", "sim-1.0")
    assert now != plan_cache.made_by("cpu", "sim-1.1")
    monkeypatch.setenv("CONFORMANCE_HOME", "/elsewhere")
    assert now == plan_cache.made_by("sim", "sim-1.1")
    monkeypatch.setenv("PYTORCH_TEST_WITH_SLOW", "1")
    slow = plan_cache.made_by("sim", "sim-1.1")
    assert slow != now
    mine = tmp_path / "mine.toml"
    mine.write_text('[[skip]]\nid = "mine"\nreason = "one"\nops = ["add"]\n')
    monkeypatch.setenv("CONFORMANCE_EXPECTATIONS", str(mine))
    one = plan_cache.made_by("sim", "sim-1.1")
    mine.write_text('[[skip]]\nid = "mine"\nreason = "two"\nops = ["add"]\n')
    assert len({now, slow, one, plan_cache.made_by("sim", "sim-1.1")}) == 4


def test_the_cache_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plan_cache.of(tmp_path, "sim", "sim-1.1") is not None
    monkeypatch.setenv("CONFORMANCE_NO_PLAN_CACHE", "1")
    assert plan_cache.of(tmp_path, "sim", "sim-1.1") is None


@pytest.mark.parametrize(
    "read",
    ["os.environ.get('MY_LIST', 'a')", 'os.environ["MY_LIST"]', "os.getenv('MY_LIST')", "environ.get(\n    'MY_LIST')"],
)
def test_a_variable_that_a_file_reads_by_name_is_part_of_what_made_its_plan(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    (tree / "near.py").write_text(f"import os\nN = {read}\n")
    monkeypatch.delenv("MY_LIST", raising=False)
    cache = PlanCache(folder=tmp_path / "plans", made_by="now")
    cache.store(tree / "a.py", PLAN, [str(tree / "near.py")])
    assert cache.load(tree / "a.py") == PLAN
    for value in ("", "b,c"):
        monkeypatch.setenv("MY_LIST", value)
        assert cache.load(tree / "a.py") is None
    monkeypatch.setenv("OTHER_LIST", "b")
    monkeypatch.delenv("MY_LIST")
    assert cache.load(tree / "a.py") == PLAN
    assert b"b,c" not in b"".join(each.read_bytes() for each in cache.folder.iterdir())
