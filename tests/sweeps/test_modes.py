"""Well-known models trained and compiled on the simulated device, one of them with a kernel that is fatal."""

import json
from pathlib import Path

import msgspec
import pytest

from conformance import settings, targets
from conformance.expectations import Chosen
from conformance.outcomes import Outcome, RanOn, Stage
from conformance.plan import Selection
from conformance.progress import Silent
from conformance.record import Result, RunFolder, read_results
from conformance.supervision.running import Request, Runner
from conformance.supervision.watch import Limits
from sweeps.facts import Facts

TYPES = ("bert", "vit")
FAULT = """
[[fault]]
kind = "crash"
op = "convolution_backward"
signal = "SIGSEGV"
"""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A finished run of two types, trained and compiled; the backward of a convolution is fatal, and only that."""
    home = tmp_path_factory.mktemp("modes")
    catalogue, faults = home / "models.jsonl", home / "faults.toml"
    catalogue.write_text("\n".join(json.dumps({"id": f"x/{each}", "model_type": each}) for each in TYPES))
    faults.write_text(FAULT)
    target = targets.get("sim")
    selection = Selection(suites=("models",), catalogue=str(catalogue), modes=("train", "compile"))
    request = Request(
        target=target, release=target.releases()[-1], selection=selection, workers=1, limits=Limits(), told=Chosen(),
    )  # fmt: skip
    known = settings.Settings(home=home, cache=settings.load().cache, database_url="")
    runner = Runner(settings=known, progress=Silent(), say=lambda _line: None, stopped=lambda: False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONFORMANCE_SIM_FAULTS", str(faults))
        ended = runner.start(request)
    assert ended.error is None
    return ended.folder


@pytest.fixture(scope="module")
def results(run: RunFolder) -> dict[tuple[str, str], Result]:
    """Results by model family and mode."""
    return {(each.test.id.file, each.test.id.kind): each for each in read_results(run)}


@pytest.fixture(scope="module")
def facts(run: RunFolder) -> dict[str, Facts]:
    """Facts of the attempts that came to an end, by key."""
    lines = [line for path in (run.path / "models").glob("facts-*.jsonl") for line in path.read_bytes().splitlines()]
    return {each.key: each for each in (msgspec.json.decode(line, type=Facts) for line in lines)}


def test_a_crash_costs_one_planned_test_and_names_its_stage(results: dict[tuple[str, str], Result]) -> None:
    died = results["vit", "train"]
    assert (died.outcome, died.shown.stage) == (Outcome.CRASH, Stage.BACKWARD)
    assert "SIGSEGV" in died.shown.message
    assert {each.outcome for name, each in results.items() if name != ("vit", "train")} == {Outcome.PASS}


def test_a_training_step_is_right_on_the_device_and_proven_to_be(
    results: dict[tuple[str, str], Result], facts: dict[str, Facts]
) -> None:
    found = results["bert", "train"]
    assert (found.shown.ran_on, found.shown.stage) == (RanOn.DEVICE, Stage.STEP)
    trained = facts[found.test.key].train
    assert trained is not None
    assert trained.curve <= trained.allowed_curve == 1e-4
    assert trained.gradient <= trained.allowed_gradient
    assert len(trained.device) == trained.steps == 10
    assert trained.gradients > 30


@pytest.mark.parametrize("family", TYPES)
def test_a_second_process_finds_what_the_first_one_compiled(
    results: dict[tuple[str, str], Result], facts: dict[str, Facts], family: str
) -> None:
    found = results[family, "compile"]
    assert (found.shown.ran_on, found.shown.stage) == (RanOn.DEVICE, Stage.WARM)
    assert {"compile", "compile_warm", "execute", "compare"} <= found.shown.seconds.keys()
    compiled = facts[found.test.key].compiled
    assert compiled is not None
    assert compiled.cold is not None
    assert compiled.warm is not None
    assert (compiled.cold.cached, compiled.warm.cached) == (0, len(compiled.warm.graphs))
    assert compiled.cold.nodes == compiled.warm.nodes > 100
    assert compiled.cold.modelled
    assert compiled.cold.backend_seconds > 100 * compiled.warm.backend_seconds
    assert not compiled.cold.breaks


def test_a_padded_mask_is_compiled_too_where_there_is_one(
    results: dict[tuple[str, str], Result], facts: dict[str, Facts]
) -> None:
    bert, vit = (facts[results[each, "compile"].test.key] for each in TYPES)
    assert bert.compiled is not None
    assert vit.compiled is not None
    assert bert.compiled.padded
    assert "padded: last_hidden_state" in {each.name for each in bert.differences}
    assert (vit.compiled.padded, vit.compiled.unpadded) == (False, "it takes no mask of tokens")


def test_nothing_is_left_of_the_caches(run: RunFolder, results: dict[tuple[str, str], Result]) -> None:
    assert results
    assert not list(Path(run.path / "models").glob("cache-*"))
