"""PyTorch's list of devices for FlexAttention: told by where the refusal is raised, extended by one device alone."""

from collections.abc import Iterator

import pytest
import torch
from torch.nn.attention import flex_attention as module

from conformance.errors import UsageError
from sweeps.flex import device_list


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    device_list.restore()


def refused(device: str) -> Exception:
    with pytest.raises((ValueError, NotImplementedError)) as caught:
        module.flex_attention(*[torch.ones(1, 1, 4, 4, device=device)] * 3)
    assert isinstance(caught.value, Exception)
    return caught.value


def test_a_device_that_is_not_on_the_list_is_told_from_every_other_refusal() -> None:
    assert device_list.refuses_device(refused("meta"))
    text = str(refused("meta"))
    with pytest.raises(ValueError, match="only supported on") as caught:
        raise ValueError(text)
    assert not device_list.refuses_device(caught.value)
    with pytest.raises(ValueError, match="number of heads") as other:
        module.flex_attention(torch.ones(1, 3, 4, 4), *[torch.ones(1, 2, 4, 4)] * 2)
    assert not device_list.refuses_device(other.value)


def test_gradients_on_the_cpu_are_refused_by_pytorch_and_not_by_a_device() -> None:
    query = torch.ones(1, 1, 4, 4, requires_grad=True)
    with pytest.raises(NotImplementedError) as caught:
        module.flex_attention(query, query, query)
    assert device_list.refuses_backward(caught.value)
    assert not device_list.refuses_device(caught.value)
    assert not device_list.refuses_backward(NotImplementedError(str(caught.value)))


def test_the_list_is_extended_by_that_device_alone_and_put_back() -> None:
    tensors = [torch.ones(1, 1, 4, 4, device="meta")] * 3
    device_list.extend("meta")
    module._validate_device(*tensors)
    with pytest.raises(NotImplementedError):
        module._validate_device(*[torch.ones(1, 1, 4, 4, requires_grad=True)] * 3)
    device_list.extend("neuron")
    with pytest.raises(ValueError, match="meta"):
        module._validate_device(*tensors)
    device_list.restore()
    assert device_list.refuses_device(refused("meta"))


def test_a_torch_without_such_a_list_cannot_be_extended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_list, "_CHECK", None)
    with pytest.raises(UsageError, match=r"no torch\.nn\.attention\.flex_attention\._validate_device to extend"):
        device_list.extend("neuron")
    assert not device_list.refuses_device(ValueError("x"))
