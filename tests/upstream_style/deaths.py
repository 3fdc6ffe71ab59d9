"""Upstream-style tests whose process dies or hangs around their body. Not collected by our pytest.

Without PyTorch's harness, so that the many children that they cost are quick.
"""

import os
import signal
import time
import unittest

import pytest


class TestDiesAround(unittest.TestCase):
    """The process dies before or after the body; the test whose set-up or tear-down it was is to blame."""

    def setUp(self):
        super().setUp()
        if "in_set_up" in self._testMethodName:
            os.kill(os.getpid(), signal.SIGSEGV)

    def tearDown(self):
        if "in_tear_down" in self._testMethodName:
            os.kill(os.getpid(), signal.SIGSEGV)
        super().tearDown()

    def test_a_right(self):
        self.assertTrue(True)

    def test_b_dies_in_tear_down(self):
        self.assertTrue(True)

    def test_c_dies_in_set_up(self):
        raise AssertionError

    def test_d_right(self):
        self.assertTrue(True)


class TestDiesWithItsClass(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        os.kill(os.getpid(), signal.SIGSEGV)

    def test_a_is_the_last(self):
        self.assertTrue(True)


class TestDiesAroundByFixtures:
    @pytest.fixture
    def deadly(self):
        yield
        os.kill(os.getpid(), signal.SIGSEGV)

    @pytest.fixture
    def stillborn(self):
        os.kill(os.getpid(), signal.SIGSEGV)

    def test_a_right(self):
        assert True

    def test_b_dies_in_tear_down(self, deadly):
        assert True

    def test_c_dies_in_set_up(self, stillborn):
        raise AssertionError

    def test_d_right(self):
        assert True


class TestHangs:
    @pytest.fixture
    def endless(self):
        yield
        time.sleep(float(os.environ.get("SECONDS_TO_HANG", "0")))

    def test_a_hangs_in_tear_down(self, endless):
        assert True

    def test_b_right(self):
        assert True
