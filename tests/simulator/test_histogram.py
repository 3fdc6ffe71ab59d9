"""The device counts integers, as accelerators do and the CPU does not: models choose that path on any other device."""

import pytest
import torch

from conformance.targets import Device


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.float32])
def test_a_histogram_of_integers_counts_them_in_their_own_dtype(device: Device, dtype: torch.dtype) -> None:
    values = torch.tensor([0, 1, 1, 3], dtype=dtype, device="neuron")
    counts = torch.histc(values, bins=4, min=0, max=3)
    assert (counts.dtype, counts.tolist(), counts.device.type) == (dtype, [1, 2, 0, 1], "neuron")
    assert "aten::histc" in device.executed_ops()
    assert not device.fallback_ops()
