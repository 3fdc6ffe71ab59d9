"""Upstream-style tests that misbehave: they die, exit, fork, close what is not theirs. Not collected by our pytest."""

import os
import signal
import sys
import time
import unittest

import pytest
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, run_tests


class TestFaults(TestCase):
    def _add(self, device):
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)

    def test_a_right(self, device):
        self._add(device)

    def test_b_is_killed(self, device):
        os.kill(os.getpid(), signal.SIGKILL)

    def test_c_closes_stdout(self, device):
        print("last words")
        sys.stdout.close()
        sys.stderr.close()
        self._add(device)

    def test_d_forks_and_the_child_comes_back(self, device):
        child = os.fork()
        if child == 0:
            return
        os.waitpid(child, 0)
        self._add(device)

    def test_e_prints_what_looks_like_a_journal(self, device):
        print('{"e":"end","t":"upstream::upstream_style/faults::TestFaults::test_b_is_killed"}\0\udcff' * 100)
        self._add(device)

    def test_f_exits(self, device):
        sys.exit(3)

    def test_g_leaves_at_once(self, device):
        os._exit(0)

    def test_h_right(self, device):
        self._add(device)


class TestEnds(TestCase):
    def test_a_right(self, device):
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)

    def test_b_ends_pytest(self, device):
        pytest.exit("enough")

    def test_c_waits(self, device):
        time.sleep(float(os.environ.get("SECONDS_TO_WAIT", "0")))
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)


class SpeechlessError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class TestHostile(TestCase):
    def test_a_raises_what_cannot_be_shown(self, device):
        raise SpeechlessError

    def test_b_skips_without_words(self, device):
        raise unittest.SkipTest(SpeechlessError())

    def test_c_right(self, device):
        self.assertEqual(torch.ones(1, device=device).sum().item(), 1)


instantiate_device_type_tests(TestFaults, globals())
instantiate_device_type_tests(TestHostile, globals())
instantiate_device_type_tests(TestEnds, globals())

if __name__ == "__main__":
    run_tests()
