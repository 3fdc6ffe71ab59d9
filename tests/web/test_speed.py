"""Pages of a run of 55,000 tests take less than a tenth of a second, once the server is warm."""

import itertools
import time
from pathlib import Path

import httpx
import pytest

from conformance.outcomes import Outcome
from conformance.store import Store, ingest
from tests.runs import Made, attempt, make_run
from tests.sites import serving

pytestmark = pytest.mark.slow

LONGEST = 0.1
"""Processor seconds of server and client together, the database's few milliseconds left out: other work on the machine
multiplies seconds of the clock, and must not fail a test."""
TRIES = 9
PAGES = (
    "/runs",
    "/runs/two",
    "/runs/two/matrix",
    "/runs/two/matrix.json",
    "/runs/two/op?name=op7",
    "/runs/two/tests?outcome=fail",
    "/tests/54000?run=two",
    "/diff?a=one&b=two",
    "/search?q=op7.dtype3",
)


def big_run(changed: int) -> dict[str, Made]:
    """700 ops x 12 dtypes x 7 kinds less some: 55,000 tests, every `changed`th one failing."""
    names = itertools.product(range(7), range(700), range(12))
    fall, fail = attempt(Outcome.FALLBACK, ops=("aten::sort",)), attempt(Outcome.FAIL, cause="c", message="not close")
    endings: dict[int, Made] = {0: fail, 1: fall, 2: attempt(Outcome.SKIP_COVERAGE, rule="coverage:x")}
    return {
        f"kind{kind}.op{op}.dtype{dtype}": endings.get(place % changed, Outcome.PASS)
        for place, (kind, op, dtype) in enumerate(itertools.islice(names, 55_000))
    }


def best(client: httpx.Client, url: str) -> float:
    """Processor seconds from question to whole answer, the best of several tries."""
    assert client.get(url).status_code == 200
    times = []
    for _ in range(TRIES):
        began = time.process_time()
        client.get(url)
        times.append(time.process_time() - began)
    return min(times)


def test_every_page_of_a_big_run_is_quick(store: Store, tmp_path: Path) -> None:
    ingest(store, make_run(tmp_path / "one", big_run(40)))
    ingest(store, make_run(tmp_path / "two", big_run(41), started=1_700_000_100.0))
    with serving(store) as site, httpx.Client(base_url=site.url, timeout=60) as client:
        taken = {url: best(client, url) for url in PAGES}
    print({url: f"{1000 * seconds:.0f} ms" for url, seconds in taken.items()})
    assert {url: seconds for url, seconds in taken.items() if seconds > LONGEST} == {}
