"""One definition of every number: page, JSON, CSV, terminal, gate and exports count the same."""

import csv
import io
import json
import re
from collections import Counter

import httpx
import pytest

from conformance.pairs import BLOCKING
from tests.conftest import Command
from tests.sites import Site


@pytest.mark.parametrize(("a", "b"), [("sim-1.0", "sim-1.1"), ("base", "candidate"), ("candidate", "base")])
def test_every_form_of_a_comparison_counts_the_same(
    client: httpx.Client, site: Site, command: Command, monkeypatch: pytest.MonkeyPatch, a: str, b: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", site.store.url.render_as_string(hide_password=False))
    page = json.loads(client.get(f"/diff.json?a={a}&b={b}").content)
    classes, blocking = page["classes"], page["blocking"]
    document = json.loads(command("diff", a, b, "--format", "json").out)
    assert document["classes"] == classes
    assert document["blocking"] == blocking == sum(classes.get(each.word, 0) for each in BLOCKING)
    assert sum(each["tests"] for each in document["causes"]) == blocking
    rows = csv.DictReader(io.StringIO(command("diff", a, b, "--format", "csv").out))
    assert Counter(each["class"] for each in rows) == {word: n for word, n in classes.items() if word != "same"}
    gate = json.loads(command("gate", "--candidate", b, "--baseline", a, "--format", "json").out)
    assert gate["classes"] == classes
    assert gate["counts"]["blocking"] == gate["counts"]["effective"] == blocking
    assert gate["counts"]["comparable"] == page["comparable"]
    sarif = json.loads(command("export", f"{a}..{b}", "--as", "sarif").out)
    assert len(sarif["runs"][0]["results"]) == blocking
    said = re.search(r"\*\*([\d,]+)\*\* of ([\d,]+) tests", command("export", f"{a}..{b}", "--as", "markdown").out)
    assert said is not None
    assert [int(each.replace(",", "")) for each in said.groups()] == [blocking, page["tests"]]
