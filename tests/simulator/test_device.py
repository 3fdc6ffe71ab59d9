"""The device behaves as a PyTorch device does: memory, views, random numbers, autograd, autocast."""

import copy
import io
import threading

import pytest
import torch
from torch import nn

from conformance.targets import Device

pytestmark = pytest.mark.usefixtures("device")


def on(*values: float) -> torch.Tensor:
    return torch.tensor(values, device="neuron")


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda x: x.sin(), {"aten::sin"}),
        (lambda x: x.clone().sin_(), {"aten::copy_", "aten::sin_"}),
        (lambda x: nn.functional.linear(x, x), {"aten::mm"}),
        (lambda x: nn.functional.layer_norm(x, (4,)), {"aten::native_layer_norm"}),
        (lambda x: nn.functional.conv1d(x[None], x[:, :, None]), {"aten::convolution"}),
        (lambda x: x.view(16).reshape(2, 8).t()[0], set()),
        (lambda x: x.cpu(), set()),
        (lambda x: torch.empty_like(x), set()),
    ],
)
def test_the_tracker_names_the_ops_as_users_know_them(device: Device, call: object, names: set[str]) -> None:
    x = torch.ones(4, 4, device="neuron")
    device.clear()
    assert callable(call)
    call(x)
    device.synchronize()
    assert device.executed_ops() == names
    assert device.fallback_ops() == frozenset()


def test_clearing_forgets_what_ran(device: Device) -> None:
    on(1).sin()
    device.clear()
    assert device.executed_ops() == frozenset()


def test_a_view_shares_the_memory_of_its_base_in_both_directions() -> None:
    base = torch.zeros(2, 3, device="neuron")
    view = base.t()[1]
    view.fill_(7)
    base[0, 1] = 5
    assert base.cpu().tolist() == [[0, 5, 0], [0, 7, 0]]
    assert view.cpu().tolist() == [5, 7]
    assert view._base is base


def test_an_in_place_op_returns_its_argument() -> None:
    x = on(1, 2)
    assert x.add_(1) is x
    assert x._version == 1


def test_out_is_resized_with_a_warning_when_it_is_too_small_and_written_when_it_fits() -> None:
    fits, small = torch.empty(2, device="neuron"), torch.empty(1, device="neuron")
    assert torch.add(on(1, 2), 1, out=fits) is fits
    with pytest.warns(UserWarning, match="was resized"):
        torch.add(on(1, 2), 1, out=small)
    assert fits.cpu().tolist() == small.cpu().tolist() == [2, 3]


def test_variants_that_pytorch_decides_by_device_have_kernels() -> None:
    x = torch.tensor([1 + 2j]).to("neuron")
    assert x.conj_physical_().cpu().item() == 1 - 2j
    values, indices = torch.empty((), device="neuron"), torch.empty((), dtype=torch.int64, device="neuron")
    torch.mode(on(2.0, 3.0, 3.0), out=(values, indices))
    assert values.item() == 3


def test_a_storage_can_grow_and_keeps_its_bytes() -> None:
    x = on(1, 2)
    x.resize_(4)
    x.untyped_storage().resize_(64)
    assert x.untyped_storage().nbytes() == 64
    assert x[:2].cpu().tolist() == [1, 2]


def test_set_moves_a_tensor_to_another_storage() -> None:
    x, y = on(1, 2), on(3, 4, 5)
    x.set_(y)
    y[0] = 9
    assert x.cpu().tolist() == [9, 4, 5]


def test_lazy_conjugates_and_negatives_are_copied_right() -> None:
    x = torch.tensor([1 + 2j], device="neuron")
    assert x.conj().cpu().item() == x.conj().clone().cpu().item() == 1 - 2j
    assert x.conj().imag.cpu().item() == -2
    assert (x.conj() * x).cpu().item() == 5


def test_an_op_that_leaves_its_out_lazily_conjugated_does_so_on_the_device() -> None:
    torch.manual_seed(0)
    matrix, rhs = torch.randn(3, 3, dtype=torch.complex64), torch.randn(2, 3, dtype=torch.complex64)
    factors, pivots = torch.linalg.lu_factor(matrix)
    answers = []
    for device in ("cpu", "neuron"):
        out = torch.empty(2, 3, dtype=torch.complex64, device=device)
        arguments = [each.to(device) for each in (factors, pivots, rhs)]
        torch.linalg.lu_solve(*arguments, left=False, out=out)
        assert out.is_conj()
        answers.append(out.cpu())
    torch.testing.assert_close(answers[1], answers[0])


def test_a_lazy_clone_is_not_written_through() -> None:
    x = on(1, 2)
    clone = torch._lazy_clone(x)
    clone.add_(1)
    assert (x.cpu().tolist(), clone.cpu().tolist()) == ([1, 2], [2, 3])


def test_seeding_repeats_the_numbers_but_they_are_not_those_of_the_cpu() -> None:
    torch.manual_seed(3)
    first, cpu = torch.rand(8, device="neuron").cpu(), torch.rand(8)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(8, device="neuron").cpu(), first)
    assert not torch.equal(first, cpu)
    assert torch.neuron.initial_seed() == 3


def test_the_state_of_the_generator_can_be_kept_and_put_back() -> None:
    state = torch.neuron.get_rng_state()
    first = torch.rand(4, device="neuron")
    torch.neuron.set_rng_state(state)
    assert torch.equal(torch.rand(4, device="neuron"), first)


def test_a_generator_of_the_device_serves_the_device_only() -> None:
    ours, theirs = torch.Generator("neuron").manual_seed(1), torch.Generator("cpu").manual_seed(1)
    first = torch.rand(4, device="neuron", generator=ours)
    assert torch.equal(first, torch.rand(4, device="neuron", generator=ours.manual_seed(1)))
    with pytest.raises(RuntimeError, match="Expected a 'neuron' device type for generator but found 'cpu'"):
        torch.rand(4, device="neuron", generator=theirs)
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
        torch.rand(4).normal_(generator=ours)


def test_dropout_on_the_device_leaves_the_generator_of_the_cpu_alone() -> None:
    torch.manual_seed(0)
    expected = torch.rand(4)
    torch.manual_seed(0)
    dropped = nn.functional.dropout(torch.ones(100, device="neuron"))
    assert 20 < int((dropped == 0).sum().cpu()) < 80
    assert torch.equal(torch.rand(4), expected)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell, nn.GRUCell])
@pytest.mark.parametrize("bias", [True, False])
def test_recurrent_layers_are_right_forward_and_backward(kind: type[nn.Module], bias: bool) -> None:
    torch.manual_seed(0)
    here = kind(5, 4, bias=bias)
    there = copy.deepcopy(here).to("neuron")
    shape = (3, 5) if "Cell" in kind.__name__ else (6, 3, 5)
    x = torch.randn(shape, requires_grad=True)
    y = x.detach().to("neuron").requires_grad_()
    for layer, value in ((here, x), (there, y)):
        output = layer(value)
        (output if isinstance(output, torch.Tensor) else output[0]).square().sum().backward()
    torch.testing.assert_close(y.grad.cpu(), x.grad)
    for ours, theirs in zip(there.parameters(), here.parameters(), strict=True):
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad)


def test_autocast_lowers_products_and_keeps_logarithms_in_float32() -> None:
    x = torch.rand(4, 4, device="neuron")
    with torch.autocast("neuron", dtype=torch.bfloat16):
        product = x @ x
        assert product.dtype is torch.bfloat16
        assert nn.functional.conv1d(x[None], x[:, :, None]).dtype is torch.bfloat16
        assert product.log().dtype is torch.float32
        assert product.softmax(-1).dtype is torch.float32
    assert (x @ x).dtype is torch.float32


def test_tensors_of_two_devices_do_not_mix_except_for_scalars() -> None:
    assert (on(1, 2) + torch.tensor(1.0)).cpu().tolist() == [2, 3]
    for call in (lambda: on(1, 2) + torch.ones(2), lambda: torch.cat([on(1), torch.ones(1)])):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            call()
    with pytest.raises(RuntimeError, match="same device"):
        torch.add(on(1, 2), 1, out=torch.empty(2))


def test_there_is_one_device() -> None:
    assert torch.neuron.device_count() == torch.accelerator.device_count() == 1
    assert torch.accelerator.current_accelerator() == torch.device("neuron")
    with pytest.raises(RuntimeError, match="this machine has one simulated NeuronCore"):
        torch.empty(1, device="neuron:1")
    with pytest.raises(RuntimeError, match="invalid device ordinal 1"):
        torch.neuron.set_device(1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: x.to_sparse(), "layout Sparse"),
        (lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), "quantized tensors are not supported"),
        (lambda x: x.to_mkldnn(), "not supported|Could not run|mkldnn"),
        (lambda x: torch.ops.aten._sparse_mm_reduce_impl(x, x, "sum"), "Could not run|not support"),
    ],
)
def test_what_the_device_cannot_hold_is_refused_in_words(call: object, words: str) -> None:
    assert callable(call)
    with pytest.raises((NotImplementedError, RuntimeError), match=words):
        call(torch.ones(2, 2, device="neuron"))


def test_tensors_can_be_copied_saved_and_loaded() -> None:
    x = on(1, 2)
    assert torch.equal(copy.deepcopy(x), x)
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded.device == x.device
    assert torch.equal(loaded, x)


def test_gradients_flow_through_other_threads_too() -> None:
    weight = on(1.0, 2.0, 3.0).requires_grad_()

    def work() -> None:
        (weight * weight).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert weight.grad is not None
    assert weight.grad.cpu().tolist() == [8, 16, 24]


def test_the_second_derivative_of_a_convolution_is_right() -> None:
    def gradient(where: str) -> torch.Tensor:
        torch.manual_seed(0)
        x = torch.rand(1, 2, 6).to(where).requires_grad_()
        w = torch.rand(3, 2, 3).to(where).requires_grad_()
        (first,) = torch.autograd.grad(nn.functional.conv1d(x, w).square().sum(), x, create_graph=True)
        return torch.autograd.grad(first.sum(), w)[0].cpu()

    torch.testing.assert_close(gradient("neuron"), gradient("cpu"))


# Module level: TorchScript reads a function's source, and does so without its annotations being postponed.
def indexed(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    y = x[i] + 1
    x[i] = y * 2
    return x[1:, 0].sum() + y.sum()


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*torch.jit:FutureWarning")
def test_torchscript_indexes_as_eager_does() -> None:
    script = torch.jit.script(indexed)
    for _ in range(3):  # the profiling executor changes the graph after its first runs
        x, i = torch.arange(16.0).reshape(4, 4), torch.tensor([0, 2])
        expected = indexed(x.clone(), i)
        torch.testing.assert_close(script(x.to("neuron"), i.to("neuron")).cpu(), expected)
        torch.testing.assert_close(script(x.to("neuron"), i).cpu(), expected)


def test_a_step_of_training_is_that_of_the_cpu() -> None:
    def trained(where: str) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.0, batch_first=True)
        inputs = torch.randn(2, 3, 8).to(where)
        model = model.to(where)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        for _ in range(2):
            optimizer.zero_grad()
            model(inputs).square().sum().backward()
            optimizer.step()
        return [each.detach().cpu() for each in model.parameters()]

    for ours, theirs in zip(trained("neuron"), trained("cpu"), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_healthy_device_passes_its_probe(device: Device) -> None:
    assert device.probe() is None
