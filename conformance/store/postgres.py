"""The embedded server: PostgreSQL on a Unix socket, shared by all processes of one user, stopped by the last.

The server lives under `<home>/postgres/<major>`. Starting and stopping happen under an exclusive lock; every user of
the server holds a shared lock, so that whoever can turn it into an exclusive one was the last.
"""

import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.errors import StoreError
from conformance.store import binaries as programs
from conformance.store.binaries import Binaries, Owner

ROLE: Final = "conformance"
LONGEST_SOCKET: Final = 107
"""Bytes that a Unix socket's path may have on Linux (sun_path of 108 with its NUL); macOS has 103."""

PATIENCE: Final = 20.0
"""Seconds to go on trying: orphans of a killed server hold its shared memory for a while."""

_SOCKET = ".s.PGSQL.5432"
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """One data folder with its programs and its user."""

    root: Path
    binaries: Binaries
    user: Owner

    @property
    def data(self) -> Path:
        """PostgreSQL's data folder."""
        return self.root / "data"

    @property
    def log(self) -> Path:
        """What the server says, inside the data folder so that its user may write it."""
        return self.data / "server.log"

    @property
    def keep(self) -> Path:
        """Present while the server shall outlive its last user (`db start`)."""
        return self.root / "keep"

    @property
    def socket(self) -> Path:
        """Folder of the socket; a short one under the temporary folder when the usual path would be too long."""
        usual = self.root / "socket"
        if len(os.fsencode(usual / _SOCKET)) < min(LONGEST_SOCKET, 103):
            return usual
        name = hashlib.blake2b(os.fsencode(self.root.absolute()), digest_size=8).hexdigest()
        return Path(tempfile.gettempdir()) / f"conformance-{name}"

    @property
    def url(self) -> str:
        """How to connect, for psql and DATABASE_URL."""
        return f"postgresql://{ROLE}@/postgres?host={self.socket}"

    def pid(self) -> int | None:
        """The server's process; None when it does not run."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().splitlines()[0])
            os.kill(pid, 0)
        except (OSError, ValueError, IndexError):
            return None
        return pid

    def ready(self) -> bool:
        """Whether the server runs and takes connections."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return self.listens() and len(lines) > 7 and lines[7].strip() == "ready"

    def listens(self) -> bool:
        """Whether the server answers at its socket: after a power cut its process number may be another's."""
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(PATIENCE)
            try:
                probe.connect(os.fsencode(self.socket / _SOCKET))
            except OSError:
                return False
        return self.pid() is not None


def cluster(home: Path, binaries: Binaries | None = None) -> Cluster:
    """The cluster of a home, its folders made. Raises StoreError when there is no server or no place for it."""
    found, user = binaries or programs.find(), programs.owner()
    root = _place(home.absolute() / "postgres" / str(found.major), user)
    try:
        root.mkdir(parents=True, exist_ok=True)
        made = Cluster(root=root, binaries=programs.within_reach(found, user, root), user=user)
        _private(made.socket, user)
    except OSError as error:
        raise StoreError(f"{root} cannot hold the database: {error.strerror}; set CONFORMANCE_HOME") from error
    return made


def _place(wanted: Path, user: Owner) -> Path:
    """The wanted folder, or one under /var/lib when the server's user cannot pass through to it (a home in /root)."""
    if user.is_self or user.can_reach(wanted):
        return wanted
    name = hashlib.blake2b(os.fsencode(wanted), digest_size=8).hexdigest()
    return Path("/var/lib/neuron-conformance") / f"{name}-{wanted.name}"


def _private(folder: Path, user: Owner) -> None:
    """Make a folder that only its owner may enter; refuse one that somebody else has put there."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
        os.chown(folder, user.uid, user.gid)
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid not in (user.uid, os.geteuid()):
        raise StoreError(f"{folder} belongs to another user, so the database's socket cannot be there: remove it")
    os.chown(folder, user.uid, user.gid)
    folder.chmod(0o700)


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
    _private(partial, cluster.user)
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
    _private(cluster.socket, cluster.user)
    if cluster.log.exists() and cluster.log.stat().st_size > _LONGEST_LOG:
        cluster.log.unlink()
    until = time.monotonic() + PATIENCE
    while True:
        before = cluster.log.stat().st_size if cluster.log.exists() else 0
        options = f"-k '{cluster.socket}'"
        done = _call(cluster, "pg_ctl", "-D", str(cluster.data), "-l", str(cluster.log), "-o", options, "-w", "start")
        if done.returncode == 0 and cluster.ready():
            return
        if time.monotonic() > until:
            raise StoreError(f"the database in {cluster.root} cannot start: {_why(cluster, before)}")
        time.sleep(0.3)


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
    """The server's own reason, from what its log gained."""
    try:
        with cluster.log.open(errors="replace") as file:
            file.seek(since)
            return _last_words(file.read())
    except OSError as error:
        return str(error.strerror)


def _last_words(text: str) -> str:
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    bad = [each for each in lines if "FATAL" in each or "PANIC" in each or "error:" in each]
    return (bad or lines or ["it said nothing"])[0][:300]
