"""The dynamo backend takes modelled time, keeps a cache and refuses with documented codes."""

from pathlib import Path

import pytest
import torch
import torch._dynamo
from torch._dynamo.exc import BackendCompilerFailed

from conformance import classify
from conformance.outcomes import Outcome
from conformance.simulator.activate import DISABLE_FALLBACK
from conformance.targets import Device, sim
from tests.simulator.conftest import Start

REFUSE = """
[[compiler.refuse]]
code = "NCC_EVRF001"
text = "operator is not supported"
ops = ["sort"]
reason = "a test"
"""


@pytest.fixture(autouse=True)
def forget() -> None:
    torch._dynamo.reset()


def compiled(call: object, *inputs: torch.Tensor, dynamic: bool = False) -> torch.Tensor:
    assert callable(call)
    answer = torch.compile(call, backend="neuron", dynamic=dynamic)(*inputs)
    assert isinstance(answer, torch.Tensor)
    return answer


def code_of(error: BaseException) -> str:
    verdict = classify.of_exception(error)
    assert verdict.outcome is Outcome.COMPILE_FAIL
    return verdict.code


def test_a_compiled_graph_is_right_runs_on_the_device_and_is_counted(start: Start) -> None:
    device = start()
    x = torch.ones(3).to("neuron")
    answer = compiled(lambda a: a.sin() * 2 + a, x)
    torch.testing.assert_close(answer.cpu(), torch.ones(3).sin() * 2 + 1)
    (graph,) = device.compiled()
    assert (graph.nodes, graph.warm) == (3, False)
    assert graph.compile_seconds == pytest.approx(2.0 + 3 * 0.5)
    assert device.executed_ops() == {"aten::sin", "aten::mul", "aten::add"}


def test_the_second_compilation_of_a_graph_is_warm_and_another_shape_or_table_is_cold(start: Start) -> None:
    device, seen = start(), []
    for size, entries in ((3, ""), (3, ""), (4, ""), (3, REFUSE)):
        device = start(entries)
        torch._dynamo.reset()
        compiled(torch.sin, torch.ones(size).to("neuron"))
        (graph,) = device.compiled()
        seen.append((graph.warm, graph.compile_seconds))
    assert [warm for warm, _ in seen] == [False, True, False, False]
    assert seen[1][1] == pytest.approx(0.25)


def test_the_cache_is_where_the_compiler_flags_say(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start()
    compiled(torch.sin, torch.ones(3).to("neuron"))
    monkeypatch.setenv("NEURON_CC_FLAGS", f"--lnc=1 --cache_dir={tmp_path / 'flagged'}")
    torch._dynamo.reset()
    compiled(torch.sin, torch.ones(3).to("neuron"))
    assert len(list((tmp_path / "neff").iterdir())) == len(list((tmp_path / "flagged").iterdir())) == 1
    assert sim.target("sim").compile_cache() == str(tmp_path / "flagged")


def test_the_backward_graph_is_compiled_too(start: Start) -> None:
    device = start()
    x = torch.ones(3).to("neuron").requires_grad_()
    compiled(lambda a: a.sin().sum(), x).backward()
    assert len(device.compiled()) == 2
    torch.testing.assert_close(x.grad.cpu(), torch.ones(3).cos())


def test_the_metrics_have_the_documented_parts(start: Start) -> None:
    start()
    compiled(torch.sin, torch.ones(3).to("neuron"))
    (metric,) = torch.neuron.get_dynamo_metrics()
    assert metric["num_nodes"] == 1
    assert metric["lowering_time"] + metric["compile_time"] == pytest.approx(2.5)
    assert metric["graph_name"].startswith("graph_")


@pytest.mark.parametrize(
    ("call", "make", "code"),
    [
        (lambda a: a.sort()[0], lambda: torch.ones(3), "NCC_EVRF001"),
        (lambda a: a * 2, lambda: torch.ones(3, dtype=torch.complex64), "NCC_EVRF004"),
        (lambda a: a + 1, lambda: torch.ones(500_000), "NCC_EOOM001"),
        (lambda a: sum(a * i for i in range(60)), lambda: torch.ones(3), "NCC_EXTP004"),
    ],
)
def test_a_refused_graph_carries_its_code(device: Device, start: Start, call: object, make: object, code: str) -> None:
    start(REFUSE)
    assert callable(make)
    with pytest.raises(BackendCompilerFailed) as caught:
        compiled(call, make().to("neuron"))
    assert code_of(caught.value) == code
    assert device.compiled() == ()


def test_dynamic_shapes_are_refused(start: Start) -> None:
    start()
    with pytest.raises(BackendCompilerFailed) as caught:
        compiled(lambda a: a * a.shape[0], torch.ones(3).to("neuron"), dynamic=True)
    assert code_of(caught.value) == "NCC_EMOD025"


FALLBACK = '[[entry]]\nops = ["sinc"]\nmode = "fallback"\nreason = "no kernel"\n'


def test_a_graph_with_an_op_without_a_kernel_is_refused_and_runs_on_the_cpu_when_allowed(start: Start) -> None:
    start(FALLBACK)
    x = torch.ones(3).to("neuron")
    with pytest.raises(BackendCompilerFailed, match=r"unsupported operator: aten\.sinc") as caught:
        compiled(torch.sinc, x)
    assert code_of(caught.value) == "NCC_EUOC002"
    torch._dynamo.reset()
    device = start(FALLBACK, **{DISABLE_FALLBACK: "0"})
    compiled(torch.sinc, x)
    assert device.fallback_ops() == {"aten::sinc"}


def test_an_op_that_the_compiler_knows_under_another_name_is_refused_with_a_code_when_it_runs(start: Start) -> None:
    start(FALLBACK.replace("sinc", "_logcumsumexp"))
    with pytest.raises(NotImplementedError) as caught:
        compiled(lambda a: a.logcumsumexp(0), torch.ones(3).to("neuron"))
    assert code_of(caught.value) == "NCC_EUOC002"


def test_a_dtype_without_arithmetic_is_refused_by_the_compiler(start: Start) -> None:
    start('[[entry]]\ndtypes = ["float64"]\nmode = "fallback"\nreason = "no unit"\n')
    with pytest.raises(BackendCompilerFailed) as caught:
        compiled(torch.sin, torch.ones(3, dtype=torch.float64).to("neuron"))
    assert code_of(caught.value) == "NCC_ESPP004"


def test_a_limit_of_dtypes_is_one_of_arguments_and_not_of_answers(start: Start) -> None:
    device = start('[[entry]]\nops = ["topk"]\ndtypes = ["int64"]\nmode = "failing"\nreason = "[NCC_EVRF013] no"\n')
    compiled(lambda a: a.topk(2)[0], torch.ones(3).to("neuron"))
    assert device.executed_ops() == {"aten::topk"}


def test_a_reason_with_a_code_of_its_own_keeps_it(start: Start) -> None:
    start('[[entry]]\nops = ["mm"]\ndtypes = ["int64"]\nmode = "failing"\nreason = "[NCC_EVRF035] no"\n')
    x = torch.ones(2, 2, dtype=torch.int64).to("neuron")
    with pytest.raises(BackendCompilerFailed) as caught:
        compiled(torch.mm, x, x)
    assert code_of(caught.value) == "NCC_EVRF035"


def test_a_graph_break_leaves_no_compiled_node(start: Start) -> None:
    device = start()

    def broken(a: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return a

    compiled(broken, torch.ones(3).to("neuron"))
    assert sum(graph.nodes for graph in device.compiled()) == 0
