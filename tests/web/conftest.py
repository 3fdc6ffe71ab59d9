"""A client of the running dashboard."""

from collections.abc import Iterator

import httpx
import pytest

from tests.sites import Site


@pytest.fixture(scope="session")
def client(site: Site) -> Iterator[httpx.Client]:
    """A client that follows no redirect by itself."""
    with httpx.Client(base_url=site.url, timeout=30) as made:
        yield made
