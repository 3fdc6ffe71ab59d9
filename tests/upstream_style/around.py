"""Upstream-style tests whose set-up or tear-down fails although a failure is expected. Not collected by our pytest.

The exact outcomes stand in tests/plugin/test_truth.py.
"""

import unittest

import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, run_tests


def computed(device):
    return torch.ones(2, device=device).sum().item() == 2


class TestFailsAround(TestCase):
    """What unittest expects to fail is the test's function: not what comes before and after it."""

    def setUp(self):
        super().setUp()
        if "set_up" in self._testMethodName:
            self.fail("set-up finds a leftover")

    def tearDown(self):
        super().tearDown()
        if "tear_down" in self._testMethodName:
            self.fail("tear-down finds a leftover")

    @unittest.expectedFailure
    def test_expected_but_set_up_fails(self, device):
        self.assertFalse(computed(device))

    @unittest.expectedFailure
    def test_expected_and_tear_down_fails(self, device):
        self.assertFalse(computed(device))

    @unittest.expectedFailure
    def test_unexpected_and_tear_down_fails(self, device):
        self.assertTrue(computed(device))

    @unittest.expectedFailure
    def test_expected_and_cleanup_fails(self, device):
        self.addCleanup(self.fail, "a leftover")
        self.assertFalse(computed(device))

    def test_body_and_tear_down_fail(self, device):
        raise RuntimeError("the body breaks")


instantiate_device_type_tests(TestFailsAround, globals())

if __name__ == "__main__":
    run_tests()
