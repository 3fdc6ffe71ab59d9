"""Addresses of pages, quoted once and in one place; every state of a view is in its address."""

from collections.abc import Iterable
from typing import Final, TypeAlias
from urllib.parse import quote, urlencode

NO_LABEL: Final = "(none)"
"""Stands for the empty label in an address, where nothing given means no restriction."""

Value: TypeAlias = str | int | Iterable[str]


def address(path: str, **query: Value) -> str:
    """A path with its query, empty values left out, in the order given."""
    pairs = [(name.rstrip("_"), text) for name, value in query.items() for text in _texts(value) if text != ""]
    # A page never fails for a name that is not valid Unicode.
    return f"{path}?{urlencode(pairs, errors='replace')}" if pairs else path


def _texts(value: Value) -> list[str]:
    return [str(value)] if isinstance(value, str | int) else [str(each) for each in value]


def run(uid: str, page: str = "", **query: Value) -> str:
    """A run's page, or one of the pages under it: "matrix", "op", "tests"."""
    return address(f"/runs/{quote(uid, safe='', errors='replace')}{'/' + page if page else ''}", **query)


def test(number: int, **query: Value) -> str:
    """A test's page."""
    return address(f"/tests/{number}", **query)


def diff(a: str, b: str, **query: Value) -> str:
    """The page of two runs side by side."""
    return address("/diff", a=a, b=b, **query)
