"""An upstream-style file whose setUpModule skips: none of its tests applies. Not collected by our pytest."""

import unittest


def setUpModule():
    raise unittest.SkipTest("the whole file needs something")


class TestNone(unittest.TestCase):
    def test_a(self):
        raise AssertionError
