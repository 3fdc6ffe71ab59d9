"""Upstream-style tests: what unittest and pytest can do to a test around its body. Not collected by our pytest.

Each class holds one way to end; the exact outcomes stand in tests/plugin/test_truth.py.
"""

import io
import os
import signal
import sys
import threading
import unittest

import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_utils import TestCase, run_tests
from torch.testing._internal.opinfo.core import DecorateInfo, OpInfo, SampleInput


def computed(device):
    return torch.ones(2, device=device).sum().item() == 2


class TestClassSetUpFails(TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("no service to test against")

    def test_a(self, device):
        raise AssertionError

    def test_b(self, device):
        raise AssertionError


class TestClassTearDownFails(TestCase):
    @classmethod
    def tearDownClass(cls):
        raise RuntimeError("the service does not stop")

    def test_a(self, device):
        self.assertTrue(computed(device))

    def test_b_fails_by_itself(self, device):
        self.assertTrue(computed(device))
        self.fail("by itself")


class TestClassCleanupFails(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(cls.leave)

    @classmethod
    def leave(cls):
        raise RuntimeError("the class leaves something behind")

    def test_a(self, device):
        self.assertTrue(computed(device))


class TestSetUp(TestCase):
    def setUp(self):
        super().setUp()
        if "skips" in self._testMethodName:
            self.skipTest("set-up says no")
        if "fails" in self._testMethodName:
            raise RuntimeError("set-up breaks")

    def test_skips(self, device):
        raise AssertionError

    def test_fails(self, device):
        raise AssertionError


class TestCleanups(TestCase):
    def test_cleanup_fails(self, device):
        self.addCleanup(self.fail, "the cleanup finds a leftover")
        self.assertTrue(computed(device))

    def test_body_and_cleanup_fail(self, device):
        self.addCleanup(self._raise)
        self.assertTrue(computed(device))
        self.fail("the body was first")

    def _raise(self):
        raise RuntimeError("the cleanup breaks too")


class TestManySubtests(TestCase):
    def test_three_of_twenty(self, device):
        for size in range(20):
            with self.subTest(size=size):
                self.assertTrue(computed(device))
                if size == 7:
                    raise ValueError("seven is another matter")
                self.assertNotIn(size, (3, 11))

    def test_named_by_a_message(self, device):
        with self.subTest("the first sample"):
            self.assertTrue(computed(device))
        with self.subTest("the second \x1b[31m sample", shape=(1, 2)):
            self.fail("not this one")

    def test_a_subtest_and_the_rest_fail(self, device):
        with self.subTest(part=1):
            self.fail("in the part")
        self.assertTrue(computed(device))
        raise RuntimeError("after the parts")

    def test_all_are_skipped(self, device):
        for size in (1, 2):
            with self.subTest(size=size):
                self.skipTest("not for us")

    def test_one_is_skipped_and_one_fails(self, device):
        with self.subTest(size=1):
            self.skipTest("not for us")
        with self.subTest(size=2):
            self.assertFalse(computed(device))

    @unittest.expectedFailure
    def test_fails_in_a_subtest_as_expected(self, device):
        for size in (1, 2):
            with self.subTest(size=size):
                self.assertTrue(computed(device))
                self.assertEqual(size, 1)


class TestSkipsLate(TestCase):
    def test_after_a_right_answer(self, device):
        self.assertTrue(computed(device))
        self.skipTest("the rest is not for us")

    def test_in_tear_down(self, device):
        self.addCleanup(self.skipTest, "too late to say")
        self.assertTrue(computed(device))


class TestBaseExceptions(TestCase):
    def test_of_its_own(self, device):
        self.assertTrue(computed(device))
        raise Unusual("not an Exception")

    def test_system_exit_without_a_number(self, device):
        sys.exit("words instead of a status")

    def test_generator_exit(self, device):
        raise GeneratorExit


class Unusual(BaseException):
    pass


class TestNeverStarted(TestCase):
    """Bodies that unittest calls and that nobody drives: no answer was ever looked at."""

    def test_is_a_generator(self, device):
        yield computed(device)

    async def test_is_a_coroutine(self, device):
        raise AssertionError


class TestStreams(TestCase):
    def test_a_replaces_stdout(self, device):
        sys.stdout = sys.stderr = io.StringIO()
        print("into nowhere")
        self.assertTrue(computed(device))

    def test_b_prints_after_that(self, device):
        print("still heard")
        self.fail("see what was printed")

    def test_c_closes_the_descriptor(self, device):
        kept = os.dup(1)
        os.close(1)
        self.addCleanup(os.dup2, kept, 1)
        self.assertTrue(computed(device))

    def test_d_prints_after_that(self, device):
        print("heard again")
        self.assertTrue(computed(device))


class TestThreads(TestCase):
    def test_a_thread_fails_in_time(self, device):
        thread = threading.Thread(target=self._fail)
        thread.start()
        thread.join()
        self.assertTrue(computed(device))

    def test_b_thread_fails_later(self, device):
        type(self).go = threading.Event()
        type(self).late = threading.Thread(target=self._fail_later)
        self.late.start()
        self.assertTrue(computed(device))

    def test_c_is_not_to_blame(self, device):
        self.go.set()
        self.late.join()
        self.assertTrue(computed(device))

    def _fail(self):
        raise RuntimeError("in a thread")

    def _fail_later(self):
        self.go.wait(30)
        self._fail()


class TestForks(TestCase):
    def test_a_child_crashes(self, device):
        self.assertTrue(computed(device))
        child = os.fork()
        if child == 0:
            os.kill(os.getpid(), signal.SIGSEGV)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), -signal.SIGSEGV)

    def test_b_child_raises(self, device):
        self.assertTrue(computed(device))
        child = os.fork()
        if child == 0:
            raise RuntimeError("in the child")
        self.assertNotEqual(os.waitpid(child, 0)[1], 0)

    def test_c_child_exits_in_a_subtest(self, device):
        self.assertTrue(computed(device))
        with self.subTest(part=1):
            child = os.fork()
            if child == 0:
                sys.exit(0)
            self.assertNotEqual(os.waitpid(child, 0)[1], 0)

    def test_d_right(self, device):
        self.assertTrue(computed(device))


def _samples(op_info, device, dtype, requires_grad, **kwargs):
    yield SampleInput(torch.ones(2, device=device, dtype=dtype))


DOUBLED = OpInfo(
    "neg",
    dtypes=(torch.float32, torch.int64, torch.int32),
    supports_autograd=False,
    sample_inputs_func=_samples,
    skips=(
        DecorateInfo(unittest.expectedFailure, "TestOneDtype", "test_neg", dtypes=(torch.int64,)),
        DecorateInfo(unittest.skip("known to hang"), "TestOneDtype", "test_neg", dtypes=(torch.int32,)),
    ),
)


class TestOneDtype(TestCase):
    @ops([DOUBLED])
    def test_neg(self, device, dtype, op):
        (sample,) = op.sample_inputs(device, dtype)
        self.assertEqual(op(sample.input).sum().item(), -2)
        self.assertNotEqual(dtype, torch.int64)


for each in (
    TestClassSetUpFails, TestClassTearDownFails, TestClassCleanupFails, TestSetUp, TestCleanups, TestManySubtests,
    TestSkipsLate, TestBaseExceptions, TestNeverStarted, TestStreams, TestThreads, TestForks, TestOneDtype,
):  # fmt: skip
    instantiate_device_type_tests(each, globals())
del each

if __name__ == "__main__":
    run_tests()
