"""A skip is attributed to the code that raised it, however it was raised."""

import unittest
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.provenance.frames import origin_of, skip_of
from conformance.provenance.rules import Origin, Skip

HERE = Path(__file__).parent.as_posix()


def raised(act: Callable[[], object], tree: str = HERE) -> Skip:
    try:
        act()
    except BaseException as error:
        return skip_of(error, tree)
    raise AssertionError("nothing was raised")


class Case(unittest.TestCase):
    def by_method(self) -> None:
        self.skipTest("by method")


def turn() -> None:
    try:
        raise NotImplementedError("no kernel")
    except NotImplementedError as error:
        raise unittest.SkipTest(f"turned: {error}")  # noqa: B904


def last() -> None:
    try:
        next(iter(()))
    except StopIteration as error:
        raise unittest.SkipTest("no sample") from error


def test_unittest_s_and_pytest_s_own_frames_are_passed_over() -> None:
    assert raised(Case("by_method").by_method) == Skip(
        origin=Origin.BODY, reason="by method", function="Case.by_method",
        where=f"tests/provenance/test_frames.py:{Case.by_method.__code__.co_firstlineno + 1}",
    )  # fmt: skip
    assert raised(lambda: pytest.skip("by function")).origin is Origin.BODY
    assert raised(lambda: pytest.importorskip("nowhere_at_all")).origin is Origin.BODY


def test_a_file_outside_the_tests_tree_is_elsewhere() -> None:
    assert raised(lambda: pytest.skip("x"), "/another/tree").origin is Origin.ELSEWHERE


def test_an_exception_that_was_turned_into_a_skip_is_named_and_the_end_of_an_iterator_is_none() -> None:
    assert raised(turn).turned == "NotImplementedError"
    assert raised(last).turned == ""


@pytest.mark.parametrize(
    ("file", "origin"),
    [
        ("/x/site-packages/torch/testing/_internal/common_utils.py", Origin.GATE),
        ("C:\\x\\torch\\testing\\_internal\\opinfo\\core.py", Origin.GATE),
        ("/x/torch_neuronx/ops.py", Origin.BACKEND),
        ("/x/conformance/simulator/surface.py", Origin.BACKEND),
        ("/x/_pytest/skipping.py", Origin.MARKER),
        ("/tree/test/test_a.py", Origin.BODY),
        ("/tree/test_evil/test_a.py", Origin.ELSEWHERE),
        ("<string>", Origin.ELSEWHERE),
    ],
)
def test_a_file_tells_whose_code_it_is(file: str, origin: Origin) -> None:
    assert origin_of(file, "/tree/test") is origin
