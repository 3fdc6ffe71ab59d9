"""Upstream-style tests: right and wrong answers, fallbacks, graphs, subtests, set-up and tear-down.

Our own pytest does not collect this file: its name does not begin with test_.
"""

import unittest
import warnings

import torch
from torch.testing._internal.common_device_type import OpDTypes, dtypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase, instantiate_parametrized_tests, parametrize, run_tests

CHOSEN = [each for each in op_db if each.full_name in ("add", "sigmoid", "sum", "nn.functional.relu", "geqrf")]


class TestAnswers(TestCase):
    def test_right(self, device):
        self.assertEqual((torch.ones(3, device=device) + 1).cpu(), torch.full((3,), 2.0))

    def test_wrong(self, device):
        self.assertEqual((torch.ones(3, device=device) + 1).cpu(), torch.zeros(3))

    def test_raises(self, device):
        print("about to raise")
        raise ValueError(f"bad value on {torch.ones(1, device=device).item()}")

    def test_refused(self, device):
        raise NotImplementedError("no kernel for this")

    def test_falls_back(self, device):
        self.assertEqual((torch.ones(4, device=device, dtype=torch.float64) + 1).sum().item(), 8)

    def test_compiles(self, device):
        compiled = torch.compile(lambda a: a + a, backend="neuron")
        self.assertEqual(compiled(torch.ones(4, device=device)).sum().item(), 8)

    def test_breaks_every_graph(self, device):
        @torch.compile(backend="neuron")
        def broken():
            torch._dynamo.graph_break()
            return 1

        broken()
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)

    def test_does_not_compile(self, device):
        compiled = torch.compile(lambda a: torch.nn.functional.avg_pool3d(a, 2), backend="neuron")
        compiled(torch.ones(1, 2, 2, 2, device=device))

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


class TestNoDevice(TestCase):
    """Not made for devices: neither class nor name changes."""

    @parametrize("flag", [True, False])
    def test_plain(self, flag):
        self.assertIsInstance(flag, bool)


instantiate_device_type_tests(TestAnswers, globals())
instantiate_device_type_tests(TestOps, globals())
instantiate_device_type_tests(TestSubtests, globals())
instantiate_device_type_tests(TestTearDown, globals())
instantiate_device_type_tests(TestClassSetUpFails, globals())
instantiate_device_type_tests(TestClassSetUpSkips, globals())
instantiate_device_type_tests(TestClassTearDownFails, globals())
instantiate_parametrized_tests(TestNoDevice)

if __name__ == "__main__":
    run_tests()
