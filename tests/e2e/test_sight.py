"""Every page for everybody: by axe, in light and dark, on a phone and on paper."""

from typing import Any, Literal

import pytest
from axe_core_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.sites import HOSTILE

pytestmark = pytest.mark.browser

ADDRESSES = (
    "/runs",
    "/runs/candidate",
    "/runs/part",
    "/runs/base/matrix",
    "/runs/base/op?name=qr",
    "/runs/candidate/tests",
    "/test?key=s::f.py::C::backward.add.int64&run=candidate",
    "/diff",
    "/diff?a=sim-1.0&b=sim-1.1",
    "/search?q=add",
    "/search",
    "/runs/unknown",
    f"/search?q={HOSTILE['long'][:50]}",
)
Scheme = Literal["light", "dark"]


def open_long_test(page: Page) -> None:
    """The page of the test with the longest name."""
    page.goto(f"/search?q={HOSTILE['long'][:50]}")
    page.get_by_role("region", name="Tests found").get_by_role("link").first.click()


def violations(page: Page) -> list[str]:
    """What axe finds wrong, in short."""
    found: list[dict[str, Any]] = Axe().run(page)["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:200]}" for each in found for node in each["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_axe_finds_nothing(page: Page, scheme: Scheme) -> None:
    page.emulate_media(color_scheme=scheme)
    for address in ADDRESSES:
        if "unknown" not in address:
            page.goto(address)
            assert violations(page) == [], address
    open_long_test(page)
    assert violations(page) == []


@pytest.mark.parametrize("width", [360, pytest.param(768, marks=pytest.mark.slow)])
def test_no_page_is_wider_than_the_screen(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 780})
    wide = {}
    for address in ADDRESSES:
        if "unknown" not in address:
            page.goto(address)
            wide[address] = page.evaluate("document.documentElement.scrollWidth")
    open_long_test(page)
    wide["long"] = page.evaluate("document.documentElement.scrollWidth")
    assert {address: found for address, found in wide.items() if found > width} == {}


def test_dark_is_dark_and_paper_is_white(page: Page) -> None:
    brightness = (
        "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
        ".reduce((a, b) => a + b) / 3"
    )
    page.goto("/runs")
    page.emulate_media(color_scheme="light")
    assert page.evaluate(brightness) > 230
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(brightness) < 40
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate(brightness) == 255
    assert not page.get_by_role("searchbox").is_visible()
