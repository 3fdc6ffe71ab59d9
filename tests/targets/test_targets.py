"""Targets are probed without torch, say what is missing in one sentence, and are labelled."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from conformance import targets
from conformance.errors import UsageError
from conformance.targets import neuron
from conformance.targets.tracked import TRACKERS

PROBE = """
import sys
from conformance import targets
for name in targets.names():
    target = targets.get(name)
    target.releases(), target.checks(), target.environment("installed"), target.description
sys.exit("torch" in sys.modules)
"""


def test_probing_every_target_does_not_import_torch() -> None:
    assert subprocess.run([sys.executable, "-c", PROBE], check=False).returncode == 0


def test_only_the_simulation_is_simulated_and_says_so() -> None:
    assert [name for name in targets.names() if targets.get(name).simulated] == ["sim"]
    assert "SIMULATION" in targets.get("sim").description
    assert "HARNESS CHECK" in targets.get("cpu").description


@pytest.mark.parametrize("name", ["sim", "cpu"])
def test_an_installed_accelerator_backend_is_kept_from_loading(name: str) -> None:
    assert targets.get(name).environment("x")["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"


def test_the_newest_release_is_the_default_and_an_unknown_one_is_refused() -> None:
    sim = targets.get("sim")
    assert targets.choose_release(sim, None) == "sim-1.1"
    with pytest.raises(UsageError, match=r"unknown release 'sim-0.9' of target 'sim': choose one of sim-1.0, sim-1.1"):
        targets.choose_release(sim, "sim-0.9")
    assert targets.choose_release(targets.get("trn3"), None) == "installed"
    assert targets.choose_release(targets.get("trn3"), "2.30") == "2.30"
    for name in ("cpu", "trn3"):
        with pytest.raises(UsageError, match=r"release 'sim-1\.0' is one of target 'sim'"):
            targets.choose_release(targets.get(name), "sim-1.0")


@pytest.mark.skipif(any(Path("/dev").glob("neuron[0-9]*")), reason="this machine has Neuron devices")
@pytest.mark.parametrize("name", ["trn2", "trn3"])
def test_a_machine_without_the_hardware_is_refused_in_one_sentence_with_a_remedy(name: str) -> None:
    target = targets.get(name)
    missing = [check for check in target.checks() if not check.present]
    assert missing
    assert all(check.remedy for check in missing)
    with pytest.raises(UsageError, match=f"target '{name}' needs .*: ") as caught:
        target.activate("installed")
    assert "\n" not in str(caught.value)


def test_trackers_are_found_in_whichever_module_has_them() -> None:
    first = SimpleNamespace(synchronize=lambda: None)
    second = SimpleNamespace(**dict.fromkeys(TRACKERS, lambda: ()))
    found = neuron.find_trackers((None, first, second), "trn3")
    assert found.synchronize is first.synchronize
    assert found.get_executed_ops is second.get_executed_ops


def test_missing_trackers_are_all_named() -> None:
    with pytest.raises(UsageError, match="lacks clear_op_tracking, get_executed_ops, get_fallback_ops, get_dynamo_met"):
        neuron.find_trackers((SimpleNamespace(synchronize=lambda: None),), "trn3")


@pytest.mark.parametrize(("installed", "present"), [("2.14.3.0", True), ("2.1.0", False), ("1.11.0.1.0.0", False)])
def test_the_placeholder_of_the_public_index_is_not_taken_for_the_backend(
    monkeypatch: pytest.MonkeyPatch, installed: str, present: bool
) -> None:
    monkeypatch.setattr(neuron, "version", lambda name: installed)
    monkeypatch.setattr(neuron, "find_spec", lambda name: object())
    (check,) = [each for each in targets.get("trn3").checks() if each.name.startswith("torch-neuronx")]
    assert check.present is present
    assert present or installed in check.remedy


def test_the_effective_fallback_values_of_the_real_backend_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neuron, "version", lambda name: "2.14.3.0")
    config = SimpleNamespace(DEFAULT_FALLBACK_ONLY_FOR_UNIMPLEMENTED="1")
    monkeypatch.setitem(sys.modules, "torch_neuronx", SimpleNamespace(_build_config=config))
    monkeypatch.setitem(sys.modules, "torch_neuronx._build_config", config)
    monkeypatch.delenv(neuron.VARIABLES[0], raising=False)
    monkeypatch.setenv(neuron.VARIABLES[1], "0")
    facts = neuron.facts()
    assert facts["torch-neuronx"] == "2.14.3.0"
    assert facts[neuron.VARIABLES[0]] == "1 (the build's default)"
    assert facts[neuron.VARIABLES[1]] == "0"


def test_on_the_cpu_the_device_of_the_tensors_is_the_proof() -> None:
    device = targets.get("cpu").activate("installed")
    device.clear()
    assert torch.ones(2, device=device.device).sum().item() == 2
    device.synchronize()
    assert device.tracks
    assert device.executed_ops() == {"cpu"}
    assert device.fallback_ops() == frozenset()
    assert device.probe() is None


def test_compiled_nodes_are_counted_on_the_cpu() -> None:
    device = targets.get("cpu").activate("installed")
    device.clear()
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: x.sin() + 1, backend=device.compile_backend, dynamic=False)
    torch.testing.assert_close(compiled(torch.zeros(2)), torch.ones(2))
    assert sum(graph.nodes for graph in device.compiled()) == 2


def test_what_is_recorded_of_the_simulation_has_the_effective_fallback_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION", "1")
    monkeypatch.delenv("TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS", raising=False)
    facts = targets.get("sim").activate("sim-1.0").environment()
    assert facts["backend"] == "simulated"
    assert facts["TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION"] == "1"
    assert facts["TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS"] == "0"
    monkeypatch.undo()
    targets.get("sim").activate("sim-1.1")
