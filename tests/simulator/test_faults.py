"""Injected faults do what they say, in real processes with real signals."""

import signal
import time
from pathlib import Path

import pytest
import torch

from conformance import codes
from conformance.errors import UsageError
from conformance.simulator import faults
from conformance.targets import sim
from tests.simulator import children


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return {faults.FAULTS: str(tmp_path / "faults.toml"), faults.STATE: str(tmp_path / "state")}


def write(variables: dict[str, str], text: str) -> None:
    Path(variables[faults.FAULTS]).write_text("[[fault]]\n" + text)


def sine() -> list[float]:
    """The sine of zero, twice, in one attempt."""
    device = sim.target("sim").activate("sim-1.1")
    device.clear()
    x = torch.zeros(1).to("neuron")
    answer = [x.sin().item(), x.sin().item()]
    device.synchronize()
    return answer


def cosine_of_bfloat16() -> float:
    sim.target("sim").activate("sim-1.1")
    return torch.zeros(1, dtype=torch.bfloat16).to("neuron").cos().item()


def attempts() -> list[bool]:
    """Whether each of four attempts was right."""
    device = sim.target("sim").activate("sim-1.1")
    x, right = torch.zeros(1).to("neuron"), []
    for _ in range(4):
        device.clear()
        right.append([x.sin().item() for _ in range(3)] == [0.0] * 3)
    return right


def probe() -> str | None:
    return sim.target("sim").activate("sim-1.1").probe()


def compiling() -> float:
    sim.target("sim").activate("sim-1.1")
    before = time.monotonic()
    torch.compile(torch.sin, backend="neuron", dynamic=False)(torch.zeros(1).to("neuron"))
    return time.monotonic() - before


def test_without_faults_nothing_is_injected() -> None:
    assert children.run(sine, {}).answer == [0.0, 0.0]


def test_wrong_numbers_strike_the_named_op_and_dtype_only(variables: dict[str, str]) -> None:
    write(variables, 'kind = "wrong"\nop = "sin"\ndtypes = ["float32"]')
    assert children.run(sine, variables).answer == pytest.approx([0.03, 0.03])
    assert children.run(cosine_of_bfloat16, variables).answer == 1.0


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL", "SIGABRT"])
def test_a_crash_is_by_the_chosen_signal(variables: dict[str, str], name: str) -> None:
    write(variables, f'kind = "crash"\nop = "sin"\nsignal = "{name}"')
    assert children.run(sine, variables).code == -signal.Signals[name]


def test_a_hang_lasts_until_it_is_killed(variables: dict[str, str]) -> None:
    write(variables, 'kind = "hang"\nop = "sin"')
    ended = children.run(sine, variables, seconds=1.5)
    assert (ended.answer, ended.code) == ("still running", -signal.SIGKILL)


def test_an_error_has_the_text_that_the_file_gives(variables: dict[str, str]) -> None:
    write(variables, 'kind = "error"\nop = "sin"\ntext = "NRT_STATUS=1005 nc busy"')
    answer = children.run(sine, variables).answer
    assert "NRT_STATUS=1005 nc busy" in answer
    assert codes.is_infra(answer)


def test_a_poisoned_device_fails_in_every_process_until_it_is_reset(variables: dict[str, str]) -> None:
    write(variables, 'kind = "poison"\nop = "sin"\ntimes = 1')
    assert children.run(probe, variables).answer is None
    assert "NRT_STATUS=101" in children.run(sine, variables).answer
    assert "NRT_STATUS=101" in children.run(cosine_of_bfloat16, variables).answer
    sick = children.run(probe, variables).answer
    assert codes.is_infra(sick)
    assert children.run(sine, variables | {faults.RESET_CORES: "1"}).answer == [0.0, 0.0]
    assert children.run(probe, variables).answer is None


def test_a_busy_core_fails_the_activation_with_the_documented_text(variables: dict[str, str]) -> None:
    write(variables, 'kind = "busy"\ntimes = 1')
    answer = children.run(sine, variables).answer
    assert "Logical Neuron Core(s) not available" in answer
    assert codes.is_infra(answer)
    assert children.run(sine, variables).answer == [0.0, 0.0]


@pytest.mark.parametrize(("on", "right"), [("even", [True, False]), ("odd", [False, True])])
def test_a_flaky_op_fails_every_second_attempt_over_all_processes(
    variables: dict[str, str], on: str, right: list[bool]
) -> None:
    write(variables, f'kind = "wrong"\nop = "sin"\non = "{on}"')
    assert children.run(attempts, variables).answer == right * 2
    assert children.run(attempts, variables).answer == right * 2


def test_a_slow_compiler_takes_its_seconds(variables: dict[str, str]) -> None:
    write(variables, 'kind = "slow_compile"\nop = "sin"\nseconds = 0.75')
    assert children.run(compiling, variables).answer > 0.75


BROKEN = {
    'kind = "explode"': "fault 1 of .* unknown kind 'explode'",
    'kind = "crash"\nsignal = "SIGFOO"': "unknown signal 'SIGFOO'",
    'kind = "wrong"\ndtypes = ["float31"]': "unknown dtypes.* 'float31'",
    'kind = "wrong"\non = "monday"': "unknown on 'monday'",
    'kind = "wrong"\nops = "sin"': "unknown field `ops`",
    "kind =": "is broken",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_fault_file_is_refused_in_one_sentence(variables: dict[str, str], text: str) -> None:
    write(variables, text)
    with pytest.raises(UsageError, match=BROKEN[text]) as caught:
        faults.read(Path(variables[faults.FAULTS]))
    assert variables[faults.FAULTS] in str(caught.value)


def test_a_fault_that_counts_needs_a_folder_for_its_state(variables: dict[str, str]) -> None:
    write(variables, 'kind = "poison"\nop = "sin"')
    del variables[faults.STATE]
    assert "set CONFORMANCE_SIM_STATE to a folder" in children.run(sine, variables).answer
