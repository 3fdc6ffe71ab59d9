"""An upstream-style file whose setUpModule fails: no test of it runs. Not collected by our pytest."""

import unittest


def setUpModule():
    raise RuntimeError("nothing to test against")


class TestNone(unittest.TestCase):
    def test_a(self):
        raise AssertionError

    def test_b(self):
        raise AssertionError
