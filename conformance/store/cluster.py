"""Where the embedded server keeps its data and its socket, and whether it is there."""

import hashlib
import os
import socket
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.errors import StoreError
from conformance.store import binaries as programs
from conformance.store.binaries import Binaries, Owner

ROLE: Final = "conformance"
LONGEST_SOCKET: Final = 107
"""Bytes that a Unix socket's path may have on Linux (sun_path of 108 with its NUL); macOS has 103."""

_SOCKET = ".s.PGSQL.5432"
_ANSWER_SECONDS = 20.0


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
            probe.settimeout(_ANSWER_SECONDS)
            try:
                probe.connect(os.fsencode(self.socket / _SOCKET))
            except OSError:
                return False
        return self.pid() is not None


def cluster(home: Path, binaries: Binaries | None = None) -> Cluster:
    """The cluster of a home, its folders made. Raises StoreError when there is no server or no place for it."""
    if home.is_file():
        raise StoreError(f"{home} is a file, so no database can be kept in it: set CONFORMANCE_HOME to a folder")
    found, user = binaries or programs.find(), programs.owner()
    root = place(home.absolute() / "postgres" / str(found.major), user)
    try:
        root.mkdir(parents=True, exist_ok=True)
        made = Cluster(root=root, binaries=programs.within_reach(found, user, root), user=user)
        private(made.socket, user)
    except OSError as error:
        raise StoreError(f"{root} cannot hold the database: {error.strerror}; set CONFORMANCE_HOME") from error
    return made


def place(wanted: Path, user: Owner) -> Path:
    """The wanted folder, or one under /var/lib when the server's user cannot pass through to it (a home in /root)."""
    if user.is_self or user.can_reach(wanted):
        return wanted
    name = hashlib.blake2b(os.fsencode(wanted), digest_size=8).hexdigest()
    return Path("/var/lib/neuron-conformance") / f"{name}-{wanted.name}"


def private(folder: Path, user: Owner) -> None:
    """Make a folder that only its owner may enter; refuse one that somebody else has put there."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
        os.chown(folder, user.uid, user.gid)
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid not in (user.uid, os.geteuid()):
        raise StoreError(f"{folder} belongs to another user, so the database's socket cannot be there: remove it")
    os.chown(folder, user.uid, user.gid)
    folder.chmod(0o700)
