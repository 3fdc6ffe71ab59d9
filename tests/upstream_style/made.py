"""Every way in which PyTorch makes tests out of one function, with names of which one begins another."""

import unittest

import torch
from torch.testing._internal.common_device_type import OpDTypes, dtypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db, modules
from torch.testing._internal.common_utils import TestCase, parametrize

SOME = op_db[:40]
shared = ops(SOME, allowed_dtypes=(torch.float32, torch.int64, torch.bool))


class TestMade(TestCase):
    @shared
    def test_out(self, device, dtype, op):
        pass

    @shared
    def test_out_warning(self, device, dtype, op):
        pass

    @ops(SOME, dtypes=OpDTypes.none)
    @parametrize("times", [1, 2])
    def test_without_dtype(self, device, op, times):
        pass

    @dtypes(torch.float32, torch.int8)
    @parametrize("text", ["a_b", "c"])
    def test_parametrized(self, device, dtype, text):
        pass

    @dtypes((torch.float32, torch.int8), (torch.float64, torch.bool))
    def test_pairs(self, device, dtypes):
        pass

    @modules(module_db[:6])
    def test_module(self, device, dtype, module_info, training):
        pass

    def test_plain(self, device):
        pass


class TestOther(TestCase):
    @ops(SOME[:3], allowed_dtypes=(torch.float32,))
    def test_out(self, device, dtype, op):
        pass


class TestNotMade(unittest.TestCase):
    def test_plain(self):
        pass


instantiate_device_type_tests(TestMade, globals())
instantiate_device_type_tests(TestOther, globals())
