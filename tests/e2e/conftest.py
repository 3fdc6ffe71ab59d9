"""A real browser, as strict as a user's: nothing of the page's policy is bypassed."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browsers import chromium
from tests.sites import Site

_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    path = chromium()
    if path is None:
        pytest.fail("there is no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=[*_ARGUMENTS])
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """A page in a context of its own, which fails the test for what the console or the network complains of."""
    context = browser.new_context(base_url=site.url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(15_000)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda asked: None if asked.url.startswith(site.url) else complaints.append(asked.url))
    yield opened
    context.close()
    assert not complaints
