"""`conformance db`: the database server and its schema."""

import click

from conformance import settings
from conformance.cli import screen
from conformance.errors import UsageError
from conformance.store import connect, postgres
from conformance.store.cluster import Cluster, cluster


@click.group()
def db() -> None:
    """Start, stop, find and upgrade the database.

    Example: conformance db upgrade
    """


@db.command()
def start() -> None:
    """Start the embedded server and keep it running.

    Example: conformance db start
    """
    postgres.join(_embedded(), keep=True).release()
    screen.say(_embedded().url)
    screen.remark("the server runs until 'conformance db stop'")


@db.command()
def stop() -> None:
    """Stop the embedded server, whoever uses it.

    Example: conformance db stop
    """
    screen.remark("the server is stopped" if postgres.stop(_embedded()) else "the server was not running")


@db.command()
def url() -> None:
    """Print where the database is, without a password.

    Example: psql "$(conformance db url)"
    """
    chosen = settings.load()
    if chosen.database_url:
        screen.say(connect.shown(connect.parse(chosen.database_url)))
        return
    found = _embedded()
    screen.say(found.url)
    if not found.ready():
        screen.remark("the server does not run now; commands start it, 'conformance db start' keeps it running")


@db.command()
def upgrade() -> None:
    """Bring the database's schema to this program's version.

    Example: DATABASE_URL=postgresql://me@host/conformance conformance db upgrade
    """
    address, lease = connect.address(settings.load())
    engine = connect.engine(address)
    try:
        with connect.translated(address):
            before, after = connect.upgrade(engine)
    finally:
        engine.dispose()
        if lease is not None:
            lease.release()
    screen.say(f"schema {after}" + (" already" if before == after else f", was {before or 'none'}"))


def _embedded() -> Cluster:
    chosen = settings.load()
    if chosen.database_url:
        raise UsageError("DATABASE_URL names a server that is not ours to start or stop: unset it for the embedded one")
    return cluster(chosen.home)
