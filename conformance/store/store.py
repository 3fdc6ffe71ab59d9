"""An open store: connections, and what is worth keeping in memory between two questions."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from sqlalchemy import Connection, RowMapping, text
from sqlalchemy.engine import URL

from conformance.settings import Settings, load
from conformance.store import connect, postgres
from conformance.store.phrases import Cursor

T = TypeVar("T")

_LARGEST_CACHE: Final = 256_000_000
"""Bytes of vectors kept in memory: some forty whole runs of 154,000 tests with all their columns."""


class Cache:
    """The vectors used last, by key, up to a number of bytes. Safe between threads."""

    def __init__(self, largest: int = _LARGEST_CACHE) -> None:
        self._largest, self._bytes = largest, 0
        self._kept: OrderedDict[object, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: object, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """The value of a key, made when it is not kept. Two threads may make the same one; that costs only time."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                value: T = self._kept[key][0]
                return value
        made = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = (made, size(made))
                self._bytes += size(made)
            while self._bytes > self._largest and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1][1]
        return made


class Store:
    """An open store. Use as a context manager; safe between threads, not across a fork."""

    def __init__(self, url: URL, lease: postgres.Lease | None) -> None:
        self.url, self._lease = url, lease
        self.engine = connect.engine(url)
        self.cache = Cache()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and give up the embedded server, which stops when nobody else uses it."""
        self.engine.dispose()
        if self._lease is not None:
            self._lease.release()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection in a transaction that only reads. Database errors become StoreError."""
        with connect.translated(self.url), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def raw(self) -> Iterator[Cursor]:
        """A driver's cursor in a transaction that is committed at the end, or rolled back whole by an error."""
        with connect.translated(self.url), self.engine.begin() as connection:
            driver = connection.connection.driver_connection
            assert driver is not None
            with driver.cursor() as cursor:
                yield cursor

    def rows(self, sql: str, **values: object) -> Sequence[RowMapping]:
        """The rows of one query."""
        with self.connection() as connection:
            return connection.execute(text(sql), values).mappings().all()

    def ping(self) -> None:
        """Raises StoreError when the database does not answer."""
        self.rows("SELECT 1")

    def ready(self) -> None:
        """Raises StoreError when the database does not answer or has another schema than this program reads."""
        with connect.translated(self.url):
            connect.require_schema(self.engine, automatic=False)


def open_store(settings: Settings | None = None, *, migrate: bool | None = None) -> Store:
    """Open the store that the settings name, starting the embedded server when that is it.

    The embedded database is brought to the newest schema by itself, one behind DATABASE_URL only with `migrate`.
    Raises StoreError when the database is down or has another schema.
    """
    settings = settings or load()
    url, lease = connect.address(settings)
    store = Store(url, lease)
    try:
        with connect.translated(url):
            connect.require_schema(store.engine, automatic=lease is not None if migrate is None else migrate)
    except BaseException:
        store.close()
        raise
    return store


def phrase_bodies(store: Store, numbers: Sequence[int]) -> Mapping[int, str]:
    """The texts of phrases by number; 0 is the empty one."""
    wanted = sorted({int(each) for each in numbers} - {0})
    rows = store.rows("SELECT id, body FROM phrase WHERE id = ANY(:wanted)", wanted=wanted) if wanted else []
    return {0: ""} | {row["id"]: row["body"] for row in rows}
