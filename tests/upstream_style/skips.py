"""Upstream-style tests: every way to skip, to expect a failure, and pytest's own ways.

Our own pytest does not collect this file: its name does not begin with test_.
"""

import json
import unittest

import pytest
import torch
from torch.testing._internal.common_device_type import (
    deviceCountAtLeast,
    expectedFailure,
    instantiate_device_type_tests,
    largeTensorTest,
    onlyCPU,
    onlyCUDA,
    onlyNativeDeviceTypes,
    skipIf,
)
from torch.testing._internal.common_utils import TestCase, lazy_skip_if, run_tests, slowTest


class TestSkips(TestCase):
    @unittest.skip("not today")
    def test_decorated(self, device):
        raise AssertionError

    @unittest.skip("half a \ud800 character")
    def test_decorated_by_half_a_character(self, device):
        raise AssertionError

    @unittest.skipIf(True, "test requires SciPy, but SciPy not found")
    def test_library(self, device):
        raise AssertionError

    @onlyCUDA
    def test_only_cuda(self, device):
        raise AssertionError

    @onlyCPU
    def test_only_cpu(self, device):
        self.assertEqual(device, "cpu")

    @onlyNativeDeviceTypes
    def test_native(self, device):
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)

    @slowTest
    def test_slow(self, device):
        raise AssertionError

    @deviceCountAtLeast(97)
    def test_many_devices(self, devices):
        raise AssertionError

    @largeTensorTest("900000GB", device="cpu")
    def test_much_memory(self, device):
        raise AssertionError

    @skipIf(True, "fails with sparse tensors", device_type=None)
    def test_skip_if(self, device):
        raise AssertionError

    @lazy_skip_if(lambda: True, "skipIfRocm: not on this stack")
    def test_lazily(self, device):
        raise AssertionError

    def test_in_the_body(self, device):
        self.skipTest("Skipped! Variant not implemented.")

    def test_without_text(self, device):
        raise unittest.SkipTest

    def test_turned_into_a_skip(self, device):
        try:
            raise RuntimeError("the device cannot do this")
        except RuntimeError as error:
            raise unittest.SkipTest(f"unsupported: {error}") from error

    def test_import(self, device):
        pytest.importorskip("a_library_that_is_nowhere")

    def test_of_a_foreign_library(self, device):
        json.JSONDecoder(object_hook=self._skips).decode("{}")

    def _skips(self, _found):
        exec(compile("import unittest\nraise unittest.SkipTest('not ours')", "/elsewhere/library.py", "exec"))


class TestNotImplemented(TestCase):
    _ignore_not_implemented_error = True

    def test_refusal_is_hidden(self, device):
        raise NotImplementedError("no kernel for aten::nothing")


class TestExpectations(TestCase):
    @unittest.expectedFailure
    def test_fails_as_expected(self, device):
        self.assertEqual(torch.ones(1, device=device).item(), 2)

    @unittest.expectedFailure
    def test_passes_unexpectedly(self, device):
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)

    @expectedFailure(None)
    def test_swallowed(self, device):
        self.assertEqual(torch.ones(1, device=device).item(), 2)

    @expectedFailure(None)
    def test_nothing_to_swallow(self, device):
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)

    def test_calls_xfail(self, device):
        pytest.xfail("known")


@unittest.skip("the whole class")
class TestSkippedClass(TestCase):
    def test_one(self):
        raise AssertionError


class TestPytestWays:
    """pytest's own style."""

    @pytest.mark.skip(reason="marked")
    def test_marked(self):
        raise AssertionError

    @pytest.mark.xfail(reason="known to fail", strict=False)
    def test_marked_xfail(self):
        raise AssertionError("as expected")

    @pytest.mark.xfail(reason="known to fail", strict=False)
    def test_loose_xpass(self):
        assert True

    @pytest.mark.xfail(reason="known to fail", strict=True)
    def test_strict_xpass(self):
        assert True

    @pytest.mark.xfail(reason="would hang", run=False)
    def test_not_to_be_run(self):
        raise AssertionError

    @pytest.mark.parametrize("value", [1, 2], ids=["<object at 0x7f00deadbeef>", "two"])
    def test_addresses(self, value):
        assert value

    def test_does_not_raise(self):
        with pytest.raises(ValueError, match="never"):
            pass

    def test_subtests(self, subtests):
        for size in (1, 2):
            with subtests.test(size=size):
                assert size == 1


def test_outside_any_class(tmp_path):
    assert tmp_path.exists()


instantiate_device_type_tests(TestSkips, globals())
instantiate_device_type_tests(TestNotImplemented, globals())
instantiate_device_type_tests(TestExpectations, globals())

if __name__ == "__main__":
    run_tests()
