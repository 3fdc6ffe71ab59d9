"""Upstream-style tests, one of every way a test can end. Our own pytest does not collect it: it has no test_ name."""

import unittest
import warnings

import pytest
import torch
from torch.testing._internal.common_device_type import (
    OpDTypes,
    deviceCountAtLeast,
    dtypes,
    expectedFailure,
    instantiate_device_type_tests,
    largeTensorTest,
    onlyCPU,
    onlyCUDA,
    onlyNativeDeviceTypes,
    ops,
    skipIf,
)
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import (
    TestCase,
    instantiate_parametrized_tests,
    lazy_skip_if,
    parametrize,
    run_tests,
    slowTest,
)

CHOSEN = [each for each in op_db if each.full_name in ("add", "sigmoid", "sum", "nn.functional.relu")]


class TestAnswers(TestCase):
    def test_right(self, device):
        self.assertEqual((torch.ones(3, device=device) + 1).cpu(), torch.full((3,), 2.0))

    def test_wrong(self, device):
        self.assertEqual((torch.ones(3, device=device) + 1).cpu(), torch.zeros(3))

    def test_raises(self, device):
        raise ValueError(f"bad value on {torch.ones(1, device=device).item()}")

    def test_refused(self, device):
        raise NotImplementedError("no kernel for this")

    def test_computes_nothing(self, device):
        self.assertEqual(1 + 1, 2)

    @dtypes(torch.float32, torch.int64)
    def test_double(self, device, dtype):
        self.assertEqual((torch.ones(2, device=device, dtype=dtype) * 2).sum().item(), 4)

    @dtypes(*[(torch.float32, torch.int32), (torch.int32, torch.int32)])
    def test_pairs(self, device, dtypes):
        a, b = (torch.ones(2, device=device, dtype=each) for each in dtypes)
        self.assertEqual((a + b).sum().item(), 4)

    @parametrize("size", [1, 3])
    def test_sizes(self, device, size):
        self.assertEqual(torch.ones(size, device=device).sum().item(), size)


class TestSkips(TestCase):
    @unittest.skip("not today")
    def test_decorated(self, device):
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


class TestOps(TestCase):
    @ops(CHOSEN, allowed_dtypes=(torch.float32, torch.int64, torch.bool))
    def test_forward(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                got = op(sample.input, *sample.args, **sample.kwargs)
            self.assertEqual(got.device.type, torch.device(device).type)

    @ops(CHOSEN, dtypes=OpDTypes.none)
    def test_names(self, device, op):
        self.assertTrue(op.name)


class TestSubtests(TestCase):
    def test_all_right(self, device):
        for size in (1, 2):
            with self.subTest(size=size):
                self.assertEqual(torch.ones(size, device=device).sum().item(), size)

    def test_one_wrong(self, device):
        for size in (1, 2):
            with self.subTest(size=size):
                self.assertEqual(torch.ones(size, device=device).sum().item(), 1)

    def test_one_skipped(self, device):
        for size in (1, 2):
            with self.subTest(size=size):
                if size == 2:
                    self.skipTest("two is not for us")
                self.assertEqual(torch.ones(size, device=device).sum().item(), size)


class TestTearDown(TestCase):
    def tearDown(self):
        if self._testMethodName.startswith("test_left_behind"):
            raise RuntimeError("something was left behind")
        super().tearDown()

    def test_left_behind(self, device):
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)

    def test_tidy(self, device):
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)


class TestClassSetUpFails(TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("no service to test against")

    def test_never_runs(self, device):
        raise AssertionError


class TestClassSetUpSkips(TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("the service is not there")

    def test_is_skipped(self, device):
        raise AssertionError


class TestClassTearDownFails(TestCase):
    @classmethod
    def tearDownClass(cls):
        raise RuntimeError("the service does not stop")

    def test_first(self, device):
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)


@unittest.skip("the whole class")
class TestSkippedClass(TestCase):
    def test_one(self):
        raise AssertionError


class TestNoDevice(TestCase):
    """Not made for devices: neither class nor name changes."""

    @parametrize("flag", [True, False])
    def test_plain(self, flag):
        self.assertIsInstance(flag, bool)


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


instantiate_device_type_tests(TestAnswers, globals())
instantiate_device_type_tests(TestSkips, globals())
instantiate_device_type_tests(TestNotImplemented, globals())
instantiate_device_type_tests(TestExpectations, globals())
instantiate_device_type_tests(TestOps, globals())
instantiate_device_type_tests(TestSubtests, globals())
instantiate_device_type_tests(TestTearDown, globals())
instantiate_device_type_tests(TestClassSetUpFails, globals())
instantiate_device_type_tests(TestClassSetUpSkips, globals())
instantiate_device_type_tests(TestClassTearDownFails, globals())
instantiate_parametrized_tests(TestNoDevice)

if __name__ == "__main__":
    run_tests()
