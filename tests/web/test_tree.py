"""A run whose tests are another PyTorch version's says so where it is shown."""

from pathlib import Path

import httpx

from conformance.outcomes import Outcome
from conformance.settings import Settings
from conformance.store import ingest, open_store
from tests.conftest import Command
from tests.runs import make_run
from tests.sites import serving
from tests.web.pages import parse

_FACTS = {"upstream.version": "2.4.0", "upstream.mismatch": "tests of 2.4.0 on torch 2.13.0+cpu"}


def test_the_page_and_the_terminal_name_the_mismatch(command: Command, database_url: str, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "r1", {"a.add.float32": Outcome.PASS}, environment=_FACTS)
    with open_store(Settings(home=tmp_path, cache=tmp_path, database_url=database_url)) as opened:
        ingest(opened, folder)
        with serving(opened) as site:
            text = parse(site.url, httpx.get(f"{site.url}/runs/r1", timeout=30).text).text
    assert "Another PyTorch's tests: tests of 2.4.0 on torch 2.13.0+cpu" in text
    assert "tests of PyTorch 2.4.0: tests of 2.4.0 on torch 2.13.0+cpu" in command("show", "r1").out
