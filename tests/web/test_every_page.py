"""Every page that can be reached by links, whatever strangers called their tests."""

import re
from collections import Counter, deque
from urllib.parse import parse_qsl, quote, urlsplit

import httpx
import pytest

from tests.sites import HOSTILE, Site
from tests.web.pages import Page, parse
from web.headers import HEADERS

_MOST_OF_A_KIND = 3
"""Pages of one kind (same path but for names, same parameters) that are looked at."""

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
_STARTS = ("/runs", "/diff", "/search?q=add", "/diff?a=sim-1.0&b=sim-1.1", "/runs/sim-1.1", "/runs/real")


def kind_of(url: str) -> tuple[str, ...]:
    """What distinguishes a page's kind: the run's nature, the page under it, the names of the parameters."""
    parts = urlsplit(url)
    path = re.sub(r"/tests/\d+", "/tests/n", re.sub("/(base|part|sim-1.[01])", "/candidate", parts.path))
    return (path, *sorted({name for name, _ in parse_qsl(parts.query)}))


def hostile_tests(client: httpx.Client) -> list[str]:
    """The page of each hostile test, the long one first."""
    run = "e/vil <b>&\"'\u202e\x1b[1m"
    found = client.get(f"/runs/{quote(run, safe='')}/tests.json").json()["tests"]
    numbers = [each["test"]["number"] for each in sorted(found, key=lambda each: -len(each["test"]["key"]))]
    return [f"/tests/{each}?run={quote(run, safe='')}" for each in numbers]


@pytest.fixture(scope="module")
def crawled(site: Site, client: httpx.Client) -> dict[str, tuple[httpx.Response, Page]]:
    """Pages reached from a few starts by following links, a handful of each kind."""
    waiting = deque(site.url + each for each in (*_STARTS, *hostile_tests(client)))
    seen: dict[str, tuple[httpx.Response, Page]] = {}
    kinds: Counter[tuple[str, ...]] = Counter()
    while waiting:
        url = waiting.popleft()
        path = urlsplit(url).path
        if url in seen or path.endswith(".json") or path.startswith("/static/"):
            continue
        kinds[kind_of(url)] += 1
        if kinds[kind_of(url)] > (len(HOSTILE) if "vil" in path else _MOST_OF_A_KIND):
            continue
        answer = client.get(url, follow_redirects=True)
        seen[url] = (answer, parse(str(answer.url), answer.text))
        waiting.extend(seen[url][1].links)
    return seen


def test_links_lead_to_pages_of_every_family(crawled: dict[str, tuple[httpx.Response, Page]]) -> None:
    assert {url: answer.status_code for url, (answer, _) in crawled.items() if answer.status_code != 200} == {}
    paths = {urlsplit(url).path for url in crawled}
    for end in ("/runs", "/diff", "/search", "/matrix", "/op", "/tests"):
        assert any(each.endswith(end) for each in paths), end
    assert any(each.startswith("/tests/") for each in paths)
    assert len(crawled) > 100


def test_nothing_hostile_becomes_markup(crawled: dict[str, tuple[httpx.Response, Page]]) -> None:
    for url, (answer, page) in crawled.items():
        assert not _UNSEEN.search(answer.text), url
        for tag, attributes in page.tags:
            assert tag not in {"img", "iframe", "object", "embed", "base", "style", "b"}, url
            assert not [each for each in attributes if each.startswith("on") or each == "style"], url
            if tag == "script":
                assert (attributes.get("src") or "").startswith("/static/"), url


def test_hostile_names_are_shown_in_full_on_the_page_of_their_test(
    client: httpx.Client, site: Site, crawled: dict[str, tuple[httpx.Response, Page]]
) -> None:
    text = "\n".join(page.text for _, page in crawled.values())
    assert "<script>alert('x')</script>" in text
    assert "{{ 7 * 7 }}" in text
    assert "\\x1b[31mred" in text
    assert "\\u202egnp.exe" in text
    assert "שלום 测试" in text
    assert HOSTILE["long"] in text


def test_every_page_is_labelled_that_shows_a_simulated_run(crawled: dict[str, tuple[httpx.Response, Page]]) -> None:
    for url, (_, page) in crawled.items():
        if re.search(r"/runs/(base|candidate|part|sim-1\.[01])", url):
            assert "SIMULATED" in page.text, url
        if "/runs/real" in url:
            assert "SIMULATED" not in page.text, url


def test_every_answer_tells_the_browser_to_trust_nothing(
    client: httpx.Client, crawled: dict[str, tuple[httpx.Response, Page]]
) -> None:
    others = [client.get(each) for each in ("/healthz", "/nope", "/runs.json", "/nope.json")]
    for answer in [*others, *(answer for answer, _ in crawled.values())]:
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_every_page_has_a_json_twin(client: httpx.Client, crawled: dict[str, tuple[httpx.Response, Page]]) -> None:
    twins = {link for _, page in crawled.values() for link in page.links if urlsplit(link).path.endswith(".json")}
    assert len(twins) >= len({urlsplit(url).path for url in crawled}) - 5
    chosen = {kind_of(url): url for url in sorted(twins)}
    assert len(chosen) > 20
    for url in chosen.values():
        answer = client.get(url)
        assert answer.status_code == 200, url
        assert answer.headers["content-type"] == "application/json"
        assert isinstance(answer.json()["simulated"], bool), url
