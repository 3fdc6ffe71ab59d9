"""The embedded server: shared by processes, stopped by the last, back after a crash, closed to everybody else."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from conformance.errors import StoreError
from conformance.store import binaries, postgres
from conformance.store import cluster as places
from conformance.store.binaries import Binaries, Owner
from conformance.store.cluster import Cluster

USER = """
import sys, time
from pathlib import Path
from conformance.store import postgres
from conformance.store.cluster import cluster
lease = postgres.join(cluster(Path(sys.argv[1])))
print("joined", flush=True)
sys.stdin.readline()
lease.release()
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="nc-"))
    made.chmod(0o755)
    yield made
    postgres.stop(places.cluster(made))
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def cluster(home: Path) -> Iterator[Cluster]:
    made = places.cluster(home)
    yield made
    postgres.stop(made)


def another_user(home: Path) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        [sys.executable, "-c", USER, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"joined\n"
    return child


def end(child: subprocess.Popen[bytes], how: int | None = None) -> None:
    with child:
        if how is not None:
            child.send_signal(how)
        assert child.stdin is not None
        child.stdin.close()
        child.wait(30)


def number_of(cluster: Cluster) -> object:
    with psycopg.connect(cluster.url) as connection:
        row = connection.execute("SELECT 42").fetchone()
    assert row is not None
    return row[0]


def test_the_server_stops_with_its_last_user_and_not_before(home: Path, cluster: Cluster) -> None:
    lease = postgres.join(cluster)
    first, second = another_user(home), another_user(home)
    pid = cluster.pid()
    lease.release()
    end(first)
    assert cluster.pid() == pid
    assert number_of(cluster) == 42
    end(second)
    assert cluster.pid() is None
    assert not cluster.ready()


def test_a_killed_user_leaves_the_server_to_the_next_one_who_stops_it(home: Path, cluster: Cluster) -> None:
    end(another_user(home), signal.SIGKILL)
    assert cluster.ready()
    pid = cluster.pid()
    lease = postgres.join(cluster)
    assert cluster.pid() == pid
    lease.release()
    lease.release()
    assert cluster.pid() is None


def test_a_killed_server_is_started_again_with_everything_that_was_committed(cluster: Cluster) -> None:
    lease = postgres.join(cluster)
    with psycopg.connect(lease.url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS kept")
        connection.execute("CREATE TABLE kept AS SELECT 7 AS seven")
        pid = cluster.pid()
        assert pid is not None
        # An orphan that is busy holds the shared memory for a moment after its postmaster is gone.
        os.kill(pid, signal.SIGKILL)
    while cluster.pid() is not None:
        time.sleep(0.01)
    again = postgres.join(cluster)
    with psycopg.connect(again.url) as connection:
        assert connection.execute("SELECT seven FROM kept").fetchone() == (7,)
    again.release()
    lease.release()
    assert cluster.pid() is None


def test_a_process_number_left_by_a_power_cut_is_not_taken_for_the_server(cluster: Cluster) -> None:
    postgres.join(cluster).release()
    lines = [str(os.getpid()), str(cluster.data), "1", "5432", str(cluster.socket), "", "1 1", "ready   "]
    (cluster.data / "postmaster.pid").write_text("\n".join(lines) + "\n")
    assert not cluster.ready()
    assert not postgres.stop(cluster)
    (cluster.data / "postmaster.pid").unlink()


def test_a_kept_server_outlives_its_users_until_it_is_stopped(cluster: Cluster) -> None:
    postgres.join(cluster, keep=True).release()
    postgres.join(cluster).release()
    assert cluster.ready()
    assert postgres.stop(cluster)
    assert not postgres.stop(cluster)
    postgres.join(cluster).release()
    assert not cluster.ready()


def test_nobody_but_the_owner_gets_to_the_socket_or_the_data(cluster: Cluster) -> None:
    lease = postgres.join(cluster)
    for folder in (cluster.socket, cluster.data):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == cluster.user.uid
    if os.geteuid() == 0:
        stranger = subprocess.run(
            [cluster.binaries.folder / "psql", cluster.url, "-c", "SELECT 1"],
            user=65_534, group=65_534, extra_groups=(), capture_output=True, text=True, cwd="/",
        )  # fmt: skip
        assert "Permission denied" in stranger.stderr
        assert stranger.returncode != 0
    lease.release()


def test_a_server_that_cannot_start_says_why_in_one_sentence(cluster: Cluster) -> None:
    postgres.join(cluster).release()
    broken = cluster.data / "PG_VERSION"
    kept = broken.read_text()
    broken.write_text("9.6\n")
    try:
        with pytest.raises(StoreError, match="cannot start: FATAL:  database files are incompatible") as caught:
            postgres.join(cluster)
        assert "\n" not in str(caught.value)
    finally:
        broken.write_text(kept)


def test_initialising_is_whole_or_absent(cluster: Cluster, tmp_path: Path) -> None:
    failing = tmp_path / "bin"
    failing.mkdir()
    script = "#!/bin/sh\necho 'initdb: error: could not write: No space left on device' >&2\nexit 1\n"
    (failing / "initdb").write_text(script)
    (failing / "initdb").chmod(0o755)
    root = cluster.root.parent / "other"
    root.mkdir(exist_ok=True)
    full = replace(cluster, root=root, binaries=Binaries(folder=failing, major=18), user=binaries.owner())
    for parent in (tmp_path, *tmp_path.parents):
        if parent.is_relative_to(tempfile.gettempdir()) and parent != Path(tempfile.gettempdir()):
            parent.chmod(0o755)
    with pytest.raises(StoreError, match="No space left on device"):
        postgres.join(full)
    assert not full.data.exists()


def test_a_long_home_still_gets_a_socket_that_fits(cluster: Cluster) -> None:
    long = replace(cluster, root=Path("/" + "x" * 120))
    assert len(os.fsencode(long.socket)) < 80
    assert long.socket != replace(long, root=Path("/" + "y" * 120)).socket


def test_a_home_that_the_server_s_user_cannot_reach_is_kept_elsewhere(tmp_path: Path) -> None:
    nobody = Owner(uid=65_534, gid=65_534, name="nobody")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    assert not nobody.can_reach(closed / "postgres" / "18")
    found = places.place(closed / "postgres" / "18", nobody)
    assert found.is_relative_to("/var/lib/neuron-conformance")
    assert found.name.endswith("-18")
    assert places.place(closed / "postgres" / "18", binaries.owner()) != found or os.geteuid() == 0


def test_a_home_that_is_a_file_is_refused_and_nothing_is_made_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "home"
    file.touch()
    with pytest.raises(StoreError, match="home is a file, so no database can be kept in it: set CONFORMANCE_HOME"):
        places.cluster(file)
    assert not places.place(file / "postgres" / "18", Owner(uid=65_534, gid=65_534, name="nobody")).exists()


def test_a_socket_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/tmp")
    with pytest.raises(StoreError, match="belongs to another user"):
        places.private(tmp_path / "link", binaries.owner())


def test_programs_out_of_reach_are_copied_with_what_they_need(tmp_path: Path) -> None:
    found = binaries.find()
    stranger = Owner(uid=54_321, gid=54_321, name="stranger")
    source = tmp_path / "closed" / "pginstall"
    (source / "bin").mkdir(parents=True)
    (source / "include").mkdir()
    (source.parent).chmod(0o700)
    for name in ("postgres", "initdb", "pg_ctl"):
        (source / "bin" / name).write_text("")
    copied = binaries.within_reach(Binaries(folder=source / "bin", major=18), stranger, tmp_path / "open")
    assert copied.folder == tmp_path / "open" / "programs" / "bin"
    assert sorted(each.name for each in copied.folder.iterdir()) == ["initdb", "pg_ctl", "postgres"]
    assert not (copied.folder.parent / "include").exists()
    assert binaries.within_reach(found, binaries.owner(), tmp_path).major == found.major
