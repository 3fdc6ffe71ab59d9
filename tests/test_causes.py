"""Signatures of failures: what differs by chance goes, what names the cause stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.causes import NAME_LENGTH, name_of, signature


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "AssertionError: 3 of 120 elements differ, worst 1.5e-3",
            "AssertionError: 7 of 8 elements differ, worst 0.25",
        ),
        ("RuntimeError: sizes (2, 3) and [4] do not match", "RuntimeError: sizes (5, 1, 9) and [7, 7] do not match"),
        ("object at 0x7f00aa12", "object at 0xDEADBEEF"),
        ("cannot open /tmp/a1/run/graph.hlo", "cannot open /var/x-9/graph.hlo"),
        ("job 123e4567-e89b-12d3-a456-426614174000 failed", "job 00000000-e89b-12d3-a456-426614174fff failed"),
        ("two\n  lines", "two lines"),
        ("'aten::nextafter_' is not supported", "'aten::nextafter' is not supported"),
    ],
)
def test_numbers_shapes_addresses_and_places_are_no_difference(one: str, other: str) -> None:
    assert signature(one) == signature(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CompileError: NCC_EVRF001 in lowering.py:add", "CompileError: NCC_EVRF004 in lowering.py:add"),
        ("NotImplementedError: aten::conv2d", "NotImplementedError: aten::conv3d"),
        ("not implemented for float16", "not implemented for float32"),
        ("aten::__ilshift__ failed", "aten::__lshift__ failed"),
        ("process died of SIGSEGV", "process died of SIGABRT"),
        ("/lib/a.so is missing", "/lib/b.so is missing"),
    ],
)
def test_codes_ops_dtypes_signals_and_file_names_are_a_difference(one: str, other: str) -> None:
    assert signature(one) != signature(other)
    assert name_of(signature(one)) != name_of(signature(other))


@given(st.text())
def test_a_signature_is_its_own_signature_and_one_line(text: str) -> None:
    once = signature(text)
    assert signature(once) == once
    assert "\n" not in once
    assert len(name_of(once)) == NAME_LENGTH
