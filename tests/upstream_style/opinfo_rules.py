"""Tests called as PyTorch's own generic ones, so that OpInfo's skips and expected failures apply; they test nothing."""

import torch
from torch.testing._internal.common_device_type import OpDTypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase, run_tests, suppress_warnings


class TestCommon(TestCase):
    @ops(op_db, allowed_dtypes=(torch.float32,))
    def test_out(self, device, dtype, op):
        self.assertIsInstance(op.name, str)

    @suppress_warnings
    @ops(op_db, dtypes=OpDTypes.none)
    def test_variant_consistency_eager(self, device, op):
        self.assertIsInstance(op.name, str)


instantiate_device_type_tests(TestCommon, globals())

if __name__ == "__main__":
    run_tests()
