"""From the settings to an engine on a database with the right schema."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from sqlalchemy import Connection, Engine, create_engine, exc, make_url, text
from sqlalchemy.engine import URL

from conformance.errors import StoreError, UsageError
from conformance.settings import Settings
from conformance.store import postgres
from conformance.store.cluster import cluster

HEAD: Final = "0004"
"""The schema version that this program reads and writes: the newest module in migrations/versions."""

_GUARDS = "-c statement_timeout=60s -c idle_in_transaction_session_timeout=120s -c timezone=UTC"
_SECRETS: Final = ("password", "sslpassword")
"""Parameters of libpq that are passwords (PostgreSQL documentation, Parameter Key Words)."""
_UPGRADES = 7_201_954_001
"""Key of the advisory lock that lets one process at a time migrate; any number of our own will do."""


def parse(url: str) -> URL:
    """A PostgreSQL URL with the driver's name put in. Raises UsageError, which never shows the password."""
    place = url.partition("://")[2].partition("/")[0].partition("?")[0]
    if place.count("@") > 1:
        # Taken apart at the first @, the rest of a password would pass for a host, and be shown.
        raise UsageError("DATABASE_URL has an @ in its user or password: write it as %40")
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, ValueError):
        raise UsageError("DATABASE_URL is not a URL: write postgresql://user:password@host:5432/database") from None
    if parsed.drivername.partition("+")[0] not in ("postgresql", "postgres"):
        raise UsageError(
            f"DATABASE_URL names the database {parsed.drivername!r}: only postgresql://… is supported"
        ) from None
    return parsed.set(drivername="postgresql+psycopg")


def engine(url: URL) -> Engine:
    """A pooled engine whose sessions have time limits."""
    options = str(url.query.get("options", ""))
    return create_engine(
        url.difference_update_query(["options"]),
        connect_args={"options": f"{_GUARDS} {options}".strip(), "connect_timeout": 10, "prepare_threshold": None},
        pool_size=5,
        max_overflow=10,
        pool_pre_ping=True,
    )


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """Turn the driver's errors into one sentence with the place and the server's words, never the password."""
    try:
        yield
    except (exc.DBAPIError, psycopg.Error) as error:
        original = error.orig if isinstance(error, exc.DBAPIError) else error
        raise StoreError(f"the database {shown(url)} refused: {words(original, url)}") from None
    except exc.TimeoutError:
        raise StoreError("every connection to the database is in use: try again") from None


def words(error: BaseException | None, url: URL) -> str:
    """The first line of what the server said, without the password."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    for secret in filter(None, (url.password, *(url.query.get(name) for name in _SECRETS))):
        line = line.replace(str(secret), "***")
    return line


def shown(url: URL) -> str:
    """The address as it may be shown: no password, neither in its place nor among the parameters."""
    hidden = {name: "***" for name in _SECRETS if name in url.query}
    return url.set(drivername="postgresql").update_query_dict(hidden).render_as_string(hide_password=True)


def version(connection: Connection) -> str | None:
    """The version of the schema; None for a database without one."""
    if connection.execute(text("SELECT to_regclass('alembic_version')")).scalar() is None:
        return None
    found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return found


def upgrade(database: Engine) -> tuple[str | None, str]:
    """Bring the schema to the newest version; returns the version before and after."""
    from alembic import command
    from alembic.config import Config

    import migrations

    config = Config()
    config.set_main_option("script_location", next(iter(migrations.__path__)).replace("%", "%%"))
    with database.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _UPGRADES})
        before = version(connection)
        _refuse_newer(before)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return before, version(connection) or ""


def _refuse_newer(found: str | None) -> None:
    if found is not None and found > HEAD:
        raise StoreError(f"the database has schema {found}, newer than this program's {HEAD}: update the program")


def require_schema(database: Engine, automatic: bool) -> None:
    """Check the schema's version; bring it up to date where that is ours to do. Raises StoreError otherwise."""
    with database.connect() as connection:
        found = version(connection)
    _refuse_newer(found)
    if found == HEAD:
        return
    if not automatic:
        raise StoreError(f"the database has schema {found or 'none'}, not {HEAD}: run 'conformance db upgrade'")
    upgrade(database)


def address(settings: Settings) -> tuple[URL, postgres.Lease | None]:
    """Where the database is; the lease on the embedded server when that is it."""
    if settings.database_url:
        return parse(settings.database_url), None
    lease = postgres.join(cluster(settings.home))
    return parse(lease.url), lease
