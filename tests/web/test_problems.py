"""Errors say what is wrong and what to do, in the form that was asked for."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from conformance.settings import Settings
from conformance.store import open_store
from conformance.store.cluster import Cluster
from tests.sites import serving
from tests.web.pages import parse

WRONG = {
    "/nothing/here": (404, "no page"),
    "/runs/unknown": (404, "conformance runs"),
    "/runs/unknown/matrix": (404, "conformance runs"),
    "/runs/base/op?name=unknown": (404, "matrix lists all ops"),
    "/runs/base/op": (400, "name"),
    "/runs/base/tests?outcome=wrong": (400, "choose one of pass"),
    "/runs/base/tests?after=x": (400, "after"),
    "/runs/base/matrix?show=wrong": (400, "choose one of pass"),
    "/runs?before=unknown": (404, "conformance runs"),
    "/tests/99999999": (404, "search"),
    "/tests/99999999999999999999": (404, "search"),
    "/tests/-1": (404, "search"),
    "/tests/word": (400, "number"),
    "/diff?a=base&b=unknown": (404, "conformance runs"),
    "/diff?a=base&b=candidate&class=wrong": (400, "choose one of same"),
    "/diff?a=base&b=candidate&after=5": (400, "page before"),
    "/diff?a=base&b=candidate&reason=x": (400, "reason"),
    "/search?q=a%00b": (400, "NUL"),
    "/runs/a%00b": (400, "NUL"),
    "/runs/base/tests?rule=%00": (400, "NUL"),
}


@pytest.mark.parametrize("url", WRONG)
def test_a_wrong_address_is_answered_by_a_page_that_says_what_to_do(client: httpx.Client, url: str) -> None:
    status, words = WRONG[url]
    answer = client.get(url)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    page = parse(f"http://h{url}", answer.text)
    assert words in page.text
    assert "Traceback" not in page.text


@pytest.mark.parametrize("url", WRONG)
def test_its_json_twin_is_a_problem_document(client: httpx.Client, url: str) -> None:
    status, words = WRONG[url]
    path, _, query = url.partition("?")
    answer = client.get(f"{path}.json?{query}")
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert said["status"] == status
    assert words in said["detail"]


@pytest.mark.parametrize(
    "url",
    [
        f"/runs/base/tests?after={10**30}",
        f"/runs/base/tests?after=-{10**30}",
        f"/search?q=add&after={10**30}",
        f"/diff?a=base&b=candidate&reason={10**30}",
        f"/diff?a=base&b=candidate&after=regressed.{10**30}",
        "/search?q=%ff%fe%ff",
        "/runs/base/matrix?kind=%ff&q=%ff",
        f"/search?q={'%25' * 2000}",
    ],
)
def test_what_leads_to_nothing_is_an_empty_page_and_no_failure(client: httpx.Client, url: str) -> None:
    assert client.get(url).status_code == 200


def test_only_reading_is_possible(client: httpx.Client) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert client.request(method, "/runs").status_code == 405


def test_head_is_answered_like_get_without_the_body(client: httpx.Client) -> None:
    for url in ("/healthz", "/runs", "/runs.json", "/nothing"):
        head, whole = client.head(url), client.get(url)
        assert (head.status_code, head.content) == (whole.status_code, b"")
        assert head.headers.get("etag") == whole.headers.get("etag")


@pytest.fixture
def doomed(own_url: str, tmp_path: Path) -> Iterator[httpx.Client]:
    """A dashboard whose database may go away."""
    settings = Settings(home=tmp_path, cache=tmp_path, database_url=own_url)
    with open_store(settings) as store, serving(store) as site, httpx.Client(base_url=site.url, timeout=30) as client:
        yield client


def test_a_database_that_is_gone_is_told_from_a_process_that_is_gone(
    doomed: httpx.Client, server: Cluster, own_url: str
) -> None:
    assert doomed.get("/readyz").status_code == 200
    name = own_url.rpartition("?")[0].rpartition("/")[2]
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} (FORCE)")
    assert doomed.get("/healthz").text == "ok\n"
    for url in ("/readyz", "/runs", "/runs.json"):
        answer = doomed.get(url)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert name in answer.text
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE blank")
    assert doomed.get("/runs").status_code == 200


def test_a_database_with_another_schema_is_not_ready(doomed: httpx.Client, own_url: str) -> None:
    with psycopg.connect(own_url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0000'")
    answer = doomed.get("/readyz")
    assert answer.status_code == 503
    assert "conformance db upgrade" in answer.text
