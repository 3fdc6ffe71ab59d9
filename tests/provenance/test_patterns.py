"""A pattern that a person writes is refused when it is none, or when a text could make it search for ever."""

import re

import pytest

from conformance.errors import UsageError
from conformance.provenance import patterns


@pytest.mark.parametrize(
    "text",
    [r"(a+)+$", r"(a|a)*b", r"(\w+\s?){2,}", r"(x){50}", r"(a)\1", "a*b*c*d", r"(?:(ab)+)", r"[a-z]*[0-9]+.*"],
)
def test_a_pattern_that_may_search_for_ever_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^`reason` of rule 'x' could take for ever"):
        patterns.made(text, "`reason` of rule 'x'")


def test_a_pattern_that_is_none_is_refused_with_its_text() -> None:
    with pytest.raises(UsageError, match=r"is no regular expression: .*'\(a'"):
        patterns.made("(a", "`reason` of rule 'x'")


@pytest.mark.parametrize("text", [r"\(a\)+", "[(]a[)]*", r"(not|isn't) (be )?found", r"a.{0,40}b", r".*x.*", r"[]a]*b"])
def test_signs_that_are_escaped_or_in_a_class_repeat_nothing(text: str) -> None:
    assert patterns.made(text, "it", re.IGNORECASE) is not None


def test_an_empty_pattern_is_none() -> None:
    assert patterns.made("", "it") is None
