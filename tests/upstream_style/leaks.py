"""Upstream-style tests that leave something changed, each before a victim. Not collected by our pytest.

`test_a_…` spoils, `test_b_…` is the victim; what the isolation puts back saves the victim. The exact outcomes stand in
tests/plugin/test_isolation.py.
"""

import gc
import logging
import os
import random
import signal
import sys
import threading
import unittest

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, run_tests
from torch.utils._python_dispatch import TorchDispatchMode

KEPT = []
WHERE = os.getcwd()  # noqa: PTH109


class Passing(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Watching(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class TestTorch(TestCase):
    def test_a_spoils_the_defaults(self, device):
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")

    def test_b_has_the_defaults(self, device):
        self.assertIs(torch.get_default_dtype(), torch.float32)
        self.assertEqual(torch.ones(1).device.type, "cpu")

    def test_c_spoils_flags(self, device):
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False
        torch.set_float32_matmul_precision("medium")
        torch.set_autocast_enabled(torch.device(device).type, True)
        torch.set_printoptions(precision=9)
        torch.set_num_threads(3)

    def test_d_has_the_flags(self, device):
        self.assertFalse(torch.are_deterministic_algorithms_enabled())
        self.assertTrue(torch.utils.deterministic.fill_uninitialized_memory)
        self.assertEqual(torch.get_float32_matmul_precision(), "highest")
        self.assertFalse(torch.is_autocast_enabled(torch.device(device).type))
        self.assertEqual(torch._tensor_str.PRINT_OPTS.precision, 4)

    def test_e_spoils_the_compiler(self, device):
        import torch._dynamo as dynamo

        dynamo.config.recompile_limit = 1
        torch.compile(lambda a: a + 1, backend="eager")(torch.ones(1))

    def test_f_has_a_new_compiler(self, device):
        self.assertGreater(torch._dynamo.config.recompile_limit, 1)
        self.assertEqual(sys.modules["torch._dynamo.convert_frame"].FRAME_COUNTER, 0)


class TestModes(unittest.TestCase):
    """Not PyTorch's TestCase, which fails a test that leaves a function mode entered."""

    def test_a_spoils_modes(self):
        Passing().__enter__()
        Watching().__enter__()
        torch.set_grad_enabled(False)
        KEPT.append(torch.inference_mode())
        KEPT[-1].__enter__()
        torch.autograd.forward_ad.enter_dual_level()
        torch.set_anomaly_enabled(True)
        torch._C._functorch._vmap_increment_nesting(3, "error")

    def test_b_has_no_modes(self):
        a = torch.ones(1, requires_grad=True)
        self.assertTrue((a * 2).requires_grad)
        self.assertFalse(torch.is_inference_mode_enabled())
        self.assertEqual(torch._C._len_torch_function_stack() + torch._C._len_torch_dispatch_stack(), 0)


class TestProcess(TestCase):
    def test_a_spoils_the_process(self, device):
        os.environ["TORCH_NEURONX_A_TEST_SETS"] = "a secret"
        os.environ.pop("HOME", None)
        os.chdir("/")
        sys.path.insert(0, "/nowhere")
        sys.setrecursionlimit(5_000)
        gc.disable()
        sys.excepthook = print
        logging.disable(logging.CRITICAL)
        logging.getLogger("torch").setLevel(7)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 3_600)

    def test_b_has_its_process(self, device):
        self.assertNotIn("TORCH_NEURONX_A_TEST_SETS", os.environ)
        self.assertIn("HOME", os.environ)
        self.assertEqual(os.getcwd(), WHERE)  # noqa: PTH109
        self.assertNotIn("/nowhere", sys.path)
        self.assertNotEqual(sys.getrecursionlimit(), 5_000)
        self.assertTrue(gc.isenabled())
        self.assertEqual(logging.root.manager.disable, 0)
        self.assertIsNot(signal.getsignal(signal.SIGTERM), signal.SIG_IGN)
        self.assertEqual(signal.getitimer(signal.ITIMER_REAL)[0], 0)

    def test_c_leaves_a_thread(self, device):
        type(self).end = threading.Event()
        type(self).thread = threading.Thread(target=self.end.wait)
        self.thread.start()

    def test_d_ends_it(self, device):
        self.end.set()
        self.thread.join()


class TestOfAClass(TestCase):
    """What a class sets is there for all of its tests, and put back with it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        torch.set_default_dtype(torch.float64)

    def test_a(self, device):
        self.assertIs(torch.get_default_dtype(), torch.float64)

    def test_b(self, device):
        self.assertIs(torch.get_default_dtype(), torch.float64)


class TestTidy:
    """What a fixture or the test's own tear-down takes back is not left behind."""

    @pytest.fixture
    def double(self):
        torch.set_default_dtype(torch.float64)
        yield
        torch.set_default_dtype(torch.float32)

    def test_by_a_fixture(self, double, monkeypatch):
        monkeypatch.setenv("A_TEST_SETS", "1")
        monkeypatch.chdir("/")
        assert torch.get_default_dtype() is torch.float64


class TestRandom(unittest.TestCase):
    """Not PyTorch's TestCase, which seeds in its set-up."""

    def _first(self):
        return random.random(), torch.rand(1).item()

    def test_a_draws(self):
        type(self).seen = self._first()

    def test_b_draws_the_same(self):
        self.assertEqual(self._first(), self.seen)


TABLE = {"known": True}


class TestTable(TestCase):
    """A table of the file itself: nobody knows that it should be put back, only a run alone tells."""

    def test_a_spoils_the_table(self, device):
        TABLE.clear()
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)

    def test_b_needs_the_table(self, device):
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)
        self.assertTrue(TABLE["known"])

    def test_c_needs_a_before_it(self, device):
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)
        self.assertEqual(TABLE, {})

    def test_d_is_wrong_in_any_case(self, device):
        self.assertEqual(torch.ones(1, device=device).sum().item(), 2)


instantiate_device_type_tests(TestTorch, globals())
instantiate_device_type_tests(TestProcess, globals())
instantiate_device_type_tests(TestOfAClass, globals())
instantiate_device_type_tests(TestTable, globals())

if __name__ == "__main__":
    run_tests()
