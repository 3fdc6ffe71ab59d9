"""Killed in the middle, two at once, a server that dies: nothing is lost and nothing is half."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.errors import StoreError, UsageError
from conformance.outcomes import Outcome
from conformance.settings import Settings
from conformance.store import Store, find_run, ingest, open_store, outcome_rows, resolve, status
from conformance.store.results import Filter
from tests.runs import Made, attempt, make_run

INGEST = """
import sys
from pathlib import Path
from conformance.store import ingest, open_store
with open_store() as store:
    print("open", flush=True)
    ingest(store, Path(sys.argv[1]))
"""


def start_ingest(folder: Path, database_url: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"DATABASE_URL": database_url}
    return subprocess.Popen([sys.executable, "-c", INGEST, str(folder)], env=environment, stdout=subprocess.PIPE)


def many(count: int, prefix: str = "forward") -> dict[str, Made]:
    outcomes = (Outcome.PASS, Outcome.FAIL, Outcome.FALLBACK)
    return {f"{prefix}.op{number}.float32": attempt(outcomes[number % 3], cause="c") for number in range(count)}


def test_an_ingest_killed_at_any_moment_leaves_nothing_and_the_next_one_stores_all(
    store: Store, database_url: str, tmp_path: Path
) -> None:
    folder = make_run(tmp_path / "r1", many(4_000))
    killed = 0
    for delay in (0.0, 0.1, 0.2, 0.3, 0.45):
        child = start_ingest(folder, database_url)
        assert child.stdout is not None
        with child.stdout:
            child.stdout.readline()
            time.sleep(delay)
            child.send_signal(signal.SIGKILL)
            killed += child.wait() == -signal.SIGKILL
        if find_run(store, "r1") is None:
            assert not store.rows("SELECT 1 FROM test UNION ALL SELECT 1 FROM phrase UNION ALL SELECT 1 FROM blob")
    assert killed
    done = ingest(store, folder)
    run = resolve(store, "r1").run
    assert done.planned == 4_000
    assert outcome_rows(store, run, Filter(), limit=1).total == 4_000
    assert store.rows("SELECT max(id) AS last, count(*) AS number FROM test")[0] == {"last": 3_999, "number": 4_000}


def test_ingests_at_once_of_overlapping_runs_number_every_test_once(
    store: Store, database_url: str, tmp_path: Path
) -> None:
    runs = [many(1_500), many(2_000), many(1_000, "backward"), many(1_500)]
    folders = [make_run(tmp_path / f"r{number}", results) for number, results in enumerate(runs)]
    children = [start_ingest(each, database_url) for each in [*folders, folders[0]]]
    for child in children:
        with child.stdout or child:
            assert child.wait(60) == 0
    assert store.rows("SELECT max(id) AS last, count(*) AS number FROM test")[0] == {"last": 2_999, "number": 3_000}
    for folder, results in zip(folders, runs, strict=True):
        run = resolve(store, folder.name).run
        assert int((status(store, run) != 0).sum()) == run.planned == len(results)
        assert ingest(store, folder).unchanged


def test_a_database_that_is_down_or_wrong_is_one_sentence_without_the_password(tmp_path: Path) -> None:
    def refused(url: str) -> str:
        with pytest.raises((StoreError, UsageError)) as caught:
            open_store(Settings(home=tmp_path, cache=tmp_path, database_url=url))
        return str(caught.value)

    down = refused("postgresql://me:hunter2@127.0.0.1:1/x")
    assert "postgresql://me:***@127.0.0.1:1/x refused" in down
    others = (
        "mysql://me:hunter2@h/x",
        "postgresql://me:hunter2@h:port/x",
        "nix",
        "postgresql://me:top@hunter2@127.0.0.1:1/x",
        "postgresql://me@127.0.0.1:1/x?password=hunter2",
        "postgresql://127.0.0.1:1/x?user=me&password=hunter2&sslpassword=hunter2",
    )
    for said in (down, *map(refused, others)):
        assert "hunter2" not in said
        assert "\n" not in said


def test_a_server_s_refusal_in_the_middle_is_a_store_error_and_rolls_back(own_url: str, tmp_path: Path) -> None:
    with open_store(Settings(home=tmp_path, cache=tmp_path, database_url=own_url)) as store:
        ingest(store, make_run(tmp_path / "r1", {"a": Outcome.PASS}))
        with store.raw() as cursor:
            cursor.execute("ALTER TABLE attempt ADD CONSTRAINT full_disk CHECK (number < 1)")
        with pytest.raises(StoreError, match="refused"):
            ingest(store, make_run(tmp_path / "r2", {"b": Outcome.FAIL}))
        assert find_run(store, "r2") is None
        assert len(store.rows("SELECT 1 FROM test")) == 1


def test_a_database_without_a_schema_is_refused_with_the_remedy(empty_url: str, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, cache=tmp_path, database_url=empty_url)
    with pytest.raises(StoreError, match="run 'conformance db upgrade'"):
        open_store(settings)
    open_store(settings, migrate=True).close()
    open_store(settings).close()


def test_a_newer_schema_than_the_program_s_is_refused(own_url: str, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, cache=tmp_path, database_url=own_url)
    with open_store(settings) as store, store.raw() as cursor:
        cursor.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="newer than this program's"):
        open_store(settings)


def test_reading_a_run_that_was_replaced_meanwhile_is_refused_and_never_mixed(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "r1", {"a": Outcome.PASS}))
    stale = resolve(store, "r1").run
    ingest(store, make_run(tmp_path / "again", {"a": Outcome.FAIL}, uid="r1"))
    with pytest.raises(StoreError, match="was replaced or deleted"):
        status(store, stale)
    assert status(store, resolve(store, "r1").run).tolist() == [Outcome.FAIL]
