"""What many tests need: a real PostgreSQL, a database of one's own, and the command line."""

import itertools
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from conformance import cli
from conformance.settings import Settings
from conformance.store import Store, connect, open_store, postgres
from conformance.store.cluster import Cluster, cluster
from tests.browsers import pytest_collection_modifyitems as pytest_collection_modifyitems
from tests.browsers import pytest_sessionfinish as pytest_sessionfinish
from tests.browsers import pytest_terminal_summary as pytest_terminal_summary
from tests.browsers import pytest_testnodedown as pytest_testnodedown
from tests.leftovers import nothing_left_behind as nothing_left_behind

if TYPE_CHECKING:
    from tests.sites import Site

_NUMBERS = itertools.count(1)

# What a shell starts in the background ignores it, and so would the children that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def server() -> Iterator[Cluster]:
    """An embedded server for the whole session. Not under pytest's own folder, which only root may enter."""
    home = Path(tempfile.mkdtemp(prefix="nc-"))
    home.chmod(0o755)
    made = cluster(home)
    lease = postgres.join(made)
    try:
        # Tests kill processes, never the machine: what is not flushed to the disk is not lost.
        _statement(made, "ALTER SYSTEM SET fsync = off")
        _statement(made, "SELECT pg_reload_conf()")
        _statement(made, "CREATE DATABASE blank")
        engine = connect.engine(connect.parse(_url(made, "blank")))
        connect.upgrade(engine)
        engine.dispose()
        yield made
    finally:
        lease.release()
        shutil.rmtree(home, ignore_errors=True)


def _url(made: Cluster, database: str) -> str:
    return made.url.replace("/postgres?", f"/{database}?")


def _statement(made: Cluster, statement: str) -> None:
    with psycopg.connect(made.url, autocommit=True) as connection:
        connection.execute(statement)


@pytest.fixture
def empty_url(server: Cluster) -> Iterator[str]:
    """The URL of a database without a schema."""
    name = f"empty_{next(_NUMBERS)}"
    _statement(server, f"CREATE DATABASE {name}")
    yield _url(server, name)
    _statement(server, f"DROP DATABASE {name} (FORCE)")


@pytest.fixture
def own_url(server: Cluster) -> Iterator[str]:
    """The URL of a migrated, empty database that the test may spoil."""
    name = f"own_{next(_NUMBERS)}"
    _statement(server, f"CREATE DATABASE {name} TEMPLATE blank")
    yield _url(server, name)
    _statement(server, f"DROP DATABASE {name} (FORCE)")


@pytest.fixture(scope="session")
def shared_url(server: Cluster) -> str:
    """The URL of the database that tests share, one after the other."""
    _statement(server, "CREATE DATABASE shared TEMPLATE blank")
    return _url(server, "shared")


@pytest.fixture
def database_url(shared_url: str) -> str:
    """The URL of a migrated, empty database."""
    with psycopg.connect(shared_url, autocommit=True) as connection:
        connection.execute(
            "TRUNCATE run, vector, side, attempt, inventory, models, test, phrase, blob RESTART IDENTITY"
        )
    return shared_url


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Settings that name that database."""
    return Settings(home=tmp_path / "home", cache=tmp_path / "cache", database_url=database_url)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    """An open, empty store."""
    with open_store(settings) as opened:
        yield opened


@pytest.fixture(scope="session")
def site(server: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Site"]:
    """A running dashboard over a database with a handful of runs; nobody writes to it."""
    from tests.sites import seed, serving  # here, so that most tests do without a web server

    folder = tmp_path_factory.mktemp("site")
    _statement(server, "CREATE DATABASE site TEMPLATE blank")
    with open_store(Settings(home=folder, cache=folder, database_url=_url(server, "site"))) as opened:
        seed(opened, folder)
        with serving(opened) as running:
            yield running


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]


@pytest.fixture
def command(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `conformance …` in this process, on a database of one's own."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("CONFORMANCE_HOME", str(tmp_path / "home"))

    def run(*arguments: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["conformance", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capfd.readouterr()
        return Said(code=int(ended.value.code or 0), out=said.out, err=said.err)

    return run
