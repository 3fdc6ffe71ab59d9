"""Catalogues: every entry comes back, readable or with the reason why it is not."""

import gzip
import json
from pathlib import Path

import pytest

from conformance.errors import UsageError
from sweeps import catalogue
from sweeps.catalogue import Entry, Unreadable


def test_a_broken_line_is_told_of_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "models.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id":"a/b","model_type":"bert"}\n{"id":7}\n\nnonsense\n{"id":"c/d"}\n'))
    found = list(catalogue.read(path))
    assert [each.id for each in found] == ["a/b", "line 2", "line 4", "c/d"]
    assert [type(each) for each in found] == [Entry, Unreadable, Unreadable, Entry]


def test_an_entry_of_ten_megabytes_costs_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "models.jsonl"
    path.write_bytes(b'{"id":"big","config":{"x":"' + b"y" * 10_000_000 + b'"}}\n{"id":"small"}\n')
    big, small = catalogue.read(path)
    assert isinstance(big, Unreadable)
    assert "it has 10,000,0" in big.reason
    assert small.id == "small"


def test_a_folder_gives_the_ids_that_its_names_hold(tmp_path: Path) -> None:
    (tmp_path / "org" / "nested").mkdir(parents=True)
    (tmp_path / "org" / "nested" / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "org--flat.json").write_text('{"model_type": "t5"}')
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "list.json").write_text("[1]")
    found = {each.id: each for each in catalogue.read(tmp_path)}
    assert set(found) == {"org/nested", "org/flat", "deep", "list"}
    assert isinstance(found["deep"], Unreadable)
    assert found["list"] == Unreadable(id="list", reason="its configuration is a JSON list and not an object")


@pytest.mark.parametrize("name", ["nothing", "truncated.jsonl.gz"])
def test_what_is_no_catalogue_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "truncated.jsonl.gz").write_bytes(gzip.compress(b'{"id":"a"}\n' * 99)[:-9])
    with pytest.raises(UsageError, match=name):
        list(catalogue.read(tmp_path / name))


def test_every_line_of_the_shipped_catalogue_is_an_entry_with_a_source() -> None:
    found = list(catalogue.read(catalogue.SHIPPED))
    entries = [each for each in found if isinstance(each, Entry)]
    assert len(entries) == len(found) > 20_000
    assert len({each.id for each in entries}) == len(entries)
    readme = (catalogue.SHIPPED.parent / "README.md").read_text()
    assert all(f"`{source}`" in readme for source in {each.source for each in entries})
    with gzip.open(catalogue.SHIPPED) as file:
        assert json.loads(file.readline())["downloads"] > 10_000_000
