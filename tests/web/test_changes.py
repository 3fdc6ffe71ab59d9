"""The tests of a comparison are paged class by class without loss or repetition."""

from pathlib import Path

import pytest
from fastapi import HTTPException

from conformance.pairs import PairClass
from conformance.store import Store, compare, find_run, ingest
from tests.runs import make_run
from tests.sites import base_run, candidate_run
from web.marks import CHANGE
from web.pages.changes import Changed, Changes, Place, changes_after, place_named


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 28, 29, 100])
def test_pages_put_together_are_all_tests_in_the_order_of_classes(store: Store, tmp_path: Path, limit: int) -> None:
    ingest(store, make_run(tmp_path / "a", base_run()))
    ingest(store, make_run(tmp_path / "b", candidate_run()))
    first, second = find_run(store, "a"), find_run(store, "b")
    assert first
    assert second
    compared = compare(store, first, second)
    whole = changes_after(store, compared, list(CHANGE), None, None, 1000)
    assert whole.next == ""
    assert len(whole.rows) == whole.total == len(set(base_run()) | set(candidate_run()))
    rows: list[Changed] = []
    page = Changes(rows=[], total=0, next="first")
    while page.next:
        last = None if page.next == "first" else place_named(page.next)
        page = changes_after(store, compared, list(CHANGE), None, last, limit)
        assert page.total == whole.total
        rows += page.rows
    assert rows == whole.rows
    order = [list(CHANGE).index(PairClass[each.change.upper()]) for each in rows]
    assert order == sorted(order)


def test_a_place_is_a_class_and_a_number() -> None:
    assert place_named("") is None
    assert place_named("regressed.12") == Place(pair=PairClass.REGRESSED, number=12)
    for wrong in ("regressed", "wrong.1", "12", "regressed.x", "regressed.-1"):
        with pytest.raises(HTTPException):
            place_named(wrong)
