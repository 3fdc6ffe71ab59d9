"""The way through the dashboard, as a user goes it."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.sites import HOSTILE, Site

pytestmark = pytest.mark.browser


def test_from_the_runs_to_a_test_and_back(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="candidate", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("sim-1.1 on sim")
    page.get_by_role("link", name="Op × dtype matrix").click()
    page.get_by_label("forward").check()
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url("/runs/candidate/matrix?kind=forward&q=&show=")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="add", exact=True))
    row.get_by_role("link", name="FAIL").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("add")
    page.get_by_role("region", name="Tests by kind and dtype").get_by_role("link", name="fail").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("forward.add.int64")
    expect(page.get_by_text("AssertionError: not close").first).to_be_visible()
    expect(page.locator(".copy code")).to_contain_text("conformance repro")
    page.go_back()
    page.go_back()
    expect(page.get_by_label("forward")).to_be_checked()


def test_two_runs_are_chosen_and_compared(page: Page) -> None:
    page.goto("/runs")
    page.get_by_label("compare from base").check()
    page.get_by_label("compare to candidate").check()
    page.get_by_role("button", name="Compare the chosen two").click()
    expect(page).to_have_url(re.compile(r"/diff\?(a=base&b=candidate|b=candidate&a=base)$"))
    expect(page.get_by_text("SIMULATED").first).to_be_visible()
    classes = page.get_by_role("region", name="Classes with their numbers")
    classes.get_by_role("link", name="regressed").click()
    expect(page).to_have_url("/diff?a=base&b=candidate&class=regressed#tests")
    page.get_by_role("region", name="Tests by class").get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(".add.int64")


def test_a_test_is_found_by_a_part_of_its_name_with_the_keyboard_alone(page: Page) -> None:
    page.goto("/runs")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    box = page.get_by_role("searchbox", name="Part of a test's name")
    while not box.evaluate("box => box === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.type("brand_new")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="forward.brand_new.float32").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("brand_new")


def test_the_command_can_be_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/test?key=s::f.py::C::forward.add.int64&run=base")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "conformance repro s::f.py::C::forward.add.int64 --target sim --release sim-1.0"


def test_the_head_of_a_matrix_stays_in_sight(page: Page) -> None:
    page.set_viewport_size({"width": 400, "height": 300})
    page.goto("/runs/base/matrix")
    table = page.get_by_role("region", name="Op by dtype")
    table.evaluate("box => { box.scrollTop = 60; box.scrollLeft = 80; }")
    frame, head = table.bounding_box(), page.get_by_role("columnheader", name="op", exact=True).bounding_box()
    assert frame
    assert head
    assert abs(head["y"] - frame["y"]) < 3
    assert abs(head["x"] - frame["x"]) < 3


def test_nothing_that_strangers_wrote_is_obeyed(page: Page) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a page opened a dialog: {dialog.message}"))
    page.goto(f"/search?q={HOSTILE['script'][1:7]}")
    page.get_by_role("region", name="Tests found").get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("<script>alert('x')</script>")
    for name in ("op", "tests"):
        page.get_by_role("navigation", name="Where this page is").get_by_role("link").last.click()
        page.get_by_role("link", name="All tests" if name == "tests" else "Op × dtype matrix").click()
        expect(page.get_by_text("<script>alert('x')</script>").first).to_be_visible()


def test_pages_are_complete_without_javascript(browser: Browser, site: Site) -> None:
    context = browser.new_context(java_script_enabled=False, base_url=site.url)
    bare = context.new_page()
    bare.goto("/test?key=s::f.py::C::forward.add.int64")
    expect(bare.get_by_role("heading", name="Run it alone")).to_be_visible()
    expect(bare.get_by_role("button", name="Copy")).to_have_count(0)
    context.close()
