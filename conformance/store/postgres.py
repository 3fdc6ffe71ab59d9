"""The embedded server: PostgreSQL on a Unix socket, shared by all processes of one user, stopped by the last.

The server lives under `<home>/postgres/<major>`. Starting and stopping happen under an exclusive lock; every user of
the server holds a shared lock, so that whoever can turn it into an exclusive one was the last.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.errors import StoreError
from conformance.store.binaries import Owner
from conformance.store.cluster import ROLE, Cluster, private

PATIENCE: Final = 20.0
"""Seconds to go on trying: orphans of a killed server hold its shared memory for a while."""

_CONFIGURATION = """
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 60
shared_buffers = 128MB
max_wal_size = 1GB
checkpoint_timeout = 15min
wal_compression = on
wal_level = minimal
max_wal_senders = 0
random_page_cost = 1.1
jit = off
temp_file_limit = 2GB
timezone = UTC
log_timezone = UTC
"""
_LONGEST_LOG = 10_000_000


@dataclass(slots=True)
class Lease:
    """This process' use of a running server. Release it once."""

    cluster: Cluster
    _file: int | None

    @property
    def url(self) -> str:
        """How to connect."""
        return self.cluster.url

    def release(self) -> None:
        """Give up the server; the last one to do so stops it, unless it was started by `db start`."""
        if self._file is None:
            return
        file, self._file = self._file, None
        try:
            with _locked(self.cluster):
                if not self.cluster.keep.exists() and _is_last(file):
                    _stop(self.cluster)
                fcntl.flock(file, fcntl.LOCK_UN)
        finally:
            os.close(file)


def join(cluster: Cluster, keep: bool = False) -> Lease:
    """Start the server when it does not run and hold it. Raises StoreError when it cannot start."""
    with _locked(cluster):
        if not cluster.ready():
            _initialise(cluster)
            _start(cluster)
        if keep:
            cluster.keep.touch()
        file = os.open(cluster.root / "users", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(file, fcntl.LOCK_SH)
    return Lease(cluster, file)


def stop(cluster: Cluster) -> bool:
    """Stop the server whoever uses it; False when it did not run."""
    with _locked(cluster):
        cluster.keep.unlink(missing_ok=True)
        return _stop(cluster)


@contextmanager
def _locked(cluster: Cluster) -> Iterator[None]:
    try:
        file = os.open(cluster.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"{cluster.root} cannot hold the database: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _is_last(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _initialise(cluster: Cluster) -> None:
    """Make the data folder, whole or not at all."""
    if (cluster.data / "PG_VERSION").exists():
        return
    partial = cluster.root / "data.partial"
    shutil.rmtree(partial, ignore_errors=True)
    private(partial, cluster.user)
    arguments = ["-D", partial, "-U", ROLE, "--auth=peer", "--locale=C", "--encoding=UTF8", "--no-sync"]
    done = _call(cluster, "initdb", *map(str, arguments))
    if done.returncode:
        raise StoreError(f"the database cannot be created in {cluster.root}: {_last_words(done.stdout)}")
    _configure(partial, cluster.user)
    partial.rename(cluster.data)


def _configure(data: Path, user: Owner) -> None:
    with (data / "postgresql.conf").open("a") as file:
        file.write(_CONFIGURATION)
    (data / "pg_hba.conf").write_text("local all all peer map=owner\n")
    names = dict.fromkeys((user.name, "root"))
    (data / "pg_ident.conf").write_text("".join(f'owner "{name}" {ROLE}\n' for name in names))


def _start(cluster: Cluster) -> None:
    private(cluster.socket, cluster.user)
    if cluster.log.exists() and cluster.log.stat().st_size > _LONGEST_LOG:
        cluster.log.unlink()
    until = time.monotonic() + PATIENCE
    while (refused := _started(cluster)) is not None:
        if not _passes(refused) or time.monotonic() > until:
            raise StoreError(f"the database in {cluster.root} cannot start: {refused}")
        time.sleep(0.3)


def _started(cluster: Cluster) -> str | None:
    """Start the server once; None when it takes connections, else its own reason."""
    before = cluster.log.stat().st_size if cluster.log.exists() else 0
    options = f"-k '{cluster.socket}'"
    done = _call(cluster, "pg_ctl", "-D", str(cluster.data), "-l", str(cluster.log), "-o", options, "-w", "start")
    return None if done.returncode == 0 and cluster.ready() else _why(cluster, before) or _last_words(done.stdout)


def _passes(refused: str) -> bool:
    """Whether waiting helps: orphans of a killed server, or one that is still shutting down."""
    return any(each in refused for each in ("shared memory", "another postmaster", "already exists", "shutting down"))


def _stop(cluster: Cluster) -> bool:
    """Ask for a fast shutdown and wait until the process is gone."""
    pid = cluster.pid()
    if pid is None or not cluster.listens():
        return False
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
    until = time.monotonic() + PATIENCE
    while cluster.pid() is not None:
        if time.monotonic() > until:
            raise StoreError(f"the database server (process {pid}) did not stop within {PATIENCE:.0f} s")
        time.sleep(0.005)
    return True


def _call(cluster: Cluster, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of PostgreSQL's programs as the server's user. A file takes its words: a server would hold a pipe."""
    user = cluster.user
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment |= {"LC_ALL": "C", "TZ": "UTC"}
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        done = subprocess.run(
            [str(cluster.binaries.folder / program), *arguments],
            cwd="/", env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
            user=None if user.is_self else user.uid, group=None if user.is_self else user.gid,
            extra_groups=None if user.is_self else (),
        )  # fmt: skip
        said.seek(0)
        return subprocess.CompletedProcess(done.args, done.returncode, said.read())


def _why(cluster: Cluster, since: int) -> str:
    """The server's own reason, from what its log gained; empty when it gained nothing."""
    try:
        with cluster.log.open(errors="replace") as file:
            file.seek(since)
            said = file.read()
    except OSError:
        return ""
    return _last_words(said) if said.strip() else ""


def _last_words(text: str) -> str:
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    bad = [each for each in lines if "FATAL" in each or "PANIC" in each or "error:" in each]
    line = (bad or lines or ["it said nothing"])[0]
    return line[max(line.find("FATAL"), line.find("PANIC"), 0) :][:300]
