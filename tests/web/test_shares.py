"""Figures as people read them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.outcomes import Outcome
from conformance.pairs import PairClass
from tests.web.pages import parse
from web import marks, shares
from web.links import address
from web.pages.dtypes import dtype_order
from web.pages.matrix import STANDS_FOR_A_CELL


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_share_is_all_or_nothing_only_when_it_is(part: int, more: int) -> None:
    shown = shares.share(part, part + more)
    assert (shown == "100.0 %") == (more == 0 and part > 0)
    assert (shown == "0.0 %") == (part == 0 and more > 0)
    assert (shown == "–") == (part + more == 0)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0, "–"),
        (12e-6, "12 µs"),
        (0.0034, "3.4 ms"),
        (0.99999, "1 s"),
        (1.234, "1.23 s"),
        (59.99, "1 min 0 s"),
        (250, "4 min 10 s"),
        (7380, "2 h 3 min"),
    ],
)
def test_a_duration_is_shown_in_the_unit_that_fits(seconds: float, shown: str) -> None:
    assert shares.duration(seconds) == shown


def test_times_are_utc_for_people_and_machines() -> None:
    elsewhere = datetime(2026, 11, 30, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert 'datetime="2026-12-01T04:30:00Z">2026-12-01 04:30 UTC<' in shares.moment(elsewhere)
    assert shares.moment(elsewhere) == shares.moment(elsewhere.astimezone(UTC))


@given(st.dictionaries(st.sampled_from([each.word for each in Outcome]), st.integers(1, 10**6), max_size=18))
def test_a_bar_is_as_wide_as_it_is_and_says_every_number(counts: dict[str, int]) -> None:
    page = parse("http://h/", str(shares.bar(counts)))
    widths = [float(attributes["width"] or "") for tag, attributes in page.tags if tag == "rect"]
    assert len(widths) == len(counts)
    assert sum(widths) == pytest.approx(1000 if counts else 0, abs=2)
    label = dict(page.tags[0][1])["aria-label"] or ""
    assert all(f"{number:,} {word}" in label for word, number in counts.items())


def test_every_outcome_and_class_has_its_look() -> None:
    for each in (marks.SHORT, marks.MEANING, marks.IN_A_BAR, STANDS_FOR_A_CELL):
        assert set(each) == set(Outcome)
        assert len(each) == len(Outcome)
    assert set(marks.CHANGE) == set(PairClass)
    assert len(set(marks.SHORT.values())) == len(Outcome)
    assert all(len(each) <= 5 for each in marks.SHORT.values())


def test_an_address_leaves_out_what_is_empty_and_quotes_the_rest() -> None:
    assert address("/x", a="", b="1 & 2", class_=["p", "q"], n=0) == "/x?b=1+%26+2&class=p&class=q&n=0"
    assert address("/x", a="") == "/x"


def test_the_usual_dtypes_come_first_and_tests_without_one_last() -> None:
    names = ["", "bool", "float8_e5m2", "float32", "bfloat16", "a"]
    assert [names[each] for each in dtype_order(names)] == ["float32", "bfloat16", "bool", "a", "float8_e5m2", ""]
