"""Upstream-style tests: names, plain unittest's and pytest's own ways. Not collected by our pytest.

The exact outcomes stand in tests/plugin/test_truth.py.
"""

import unittest

import pytest
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, parametrize, run_tests, subtest


def computed(device):
    return torch.ones(2, device=device).sum().item() == 2


class TestNames(TestCase):
    @parametrize("value", [subtest(1.5, name="one point five"), subtest("a/b::c[d]\n", name="odd"), "x y"])
    def test_odd(self, device, value):
        self.assertTrue(computed(device))


class TestOfAsync(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.size = 2

    async def test_right(self):
        self.assertEqual(torch.ones(self.size).sum().item(), 2)

    async def test_wrong(self):
        self.assertEqual(torch.ones(self.size).sum().item(), 3)


class TestByRunTest(unittest.TestCase):
    def runTest(self):  # noqa: N802
        self.assertEqual(torch.ones(2).sum().item(), 3)


@pytest.fixture(scope="session")
def kept_for_the_session():
    yield
    raise RuntimeError("the session does not come down")


@pytest.fixture(scope="class")
def kept_for_the_class():
    yield
    raise RuntimeError("the class does not come down")


class TestWide:
    def test_a(self, kept_for_the_class, kept_for_the_session):
        assert computed("cpu")

    def test_b_fails_by_itself(self):
        assert not computed("cpu")


class TestMarks:
    """pytest's own style."""

    @pytest.mark.xfail(raises=ValueError, reason="a bad value", strict=True)
    def test_xfail_of_the_right_kind(self):
        raise ValueError("bad")

    @pytest.mark.xfail(raises=ValueError, reason="a bad value", strict=True)
    def test_xfail_of_another_kind(self):
        raise KeyError("worse")

    @pytest.mark.xfail(reason="known to fail", strict=True)
    def test_strict_xfail(self):
        assert not computed("cpu")

    @pytest.mark.xfail(reason="known to fail", strict=True)
    def test_strict_xpass(self):
        assert computed("cpu")

    @pytest.mark.xfail(False, reason="not here")
    def test_xfail_that_does_not_apply(self):
        raise ValueError("bad")

    @pytest.mark.parametrize("value", ["a b", "[x]::y", "é\n", "", "x" * 300], ids=lambda each: each)
    def test_odd_names(self, value):
        assert isinstance(value, str)

    @pytest.mark.parametrize("value", [1, 2, 3], ids=["same", "same", "same"])
    def test_ids_that_collide(self, value):
        assert value != 2

    @pytest.mark.skipif("no_such_name > 1", reason="broken")
    def test_broken_marker(self):
        assert computed("cpu")

    async def test_coroutine(self):
        assert computed("cpu")

    def test_gives_up(self):
        pytest.fail("by its own words")

    def test_subtests(self, subtests):
        for size in range(4):
            with subtests.test("sample", size=size):
                assert size % 2 == 0
        with subtests.test(msg="skips"):
            pytest.skip("not this one")

    def test_skips_after_a_failed_subtest(self, subtests):
        with subtests.test(size=1):
            raise ValueError("first")
        pytest.skip("then no more")

    @pytest.fixture
    def broken(self):
        yield 1
        raise RuntimeError("the fixture does not come down")

    def test_right_with_a_broken_fixture(self, broken):
        assert broken == 1

    def test_wrong_with_a_broken_fixture(self, broken):
        assert broken == 2


def load_tests(loader, tests, pattern):
    """pytest does not ask it: the tests of the file are those that it shows."""
    return unittest.TestSuite()


instantiate_device_type_tests(TestNames, globals())

if __name__ == "__main__":
    run_tests()
