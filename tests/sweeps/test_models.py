"""Well-known models, run to their outcomes on the simulated device by the supervisor."""

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

TYPES = ("llama", "bert", "t5", "vit", "whisper")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A finished run of five types and some that cannot be run, in two dtypes."""
    home = tmp_path_factory.mktemp("models")
    catalogue = home / "models.jsonl"
    hostile = {"model_type": "llama", "vocab_size": 500, "hidden_size": 64, "num_attention_heads": 7}
    rows = [{"id": f"x/{each}", "model_type": each, "downloads": 5} for each in TYPES]
    rows += [{"id": "x/remote", "config": {"model_type": "mine", "auto_map": {}}}, {"id": "x/bad", "config": hostile}]
    catalogue.write_text("\n".join(map(json.dumps, rows)))
    target = targets.get("sim")
    selection = Selection(suites=("models",), catalogue=str(catalogue), dtypes=("float32", "bfloat16"))
    request = Request(
        target=target, release=target.releases()[-1], selection=selection, workers=1, limits=Limits(), told=Chosen(),
    )  # fmt: skip
    known = settings.Settings(home=home, cache=settings.load().cache, database_url="")
    runner = Runner(settings=known, progress=Silent(), say=lambda _line: None, stopped=lambda: False)
    ended = runner.start(request)
    assert ended.error is None
    return ended.folder


@pytest.fixture(scope="module")
def results(run: RunFolder) -> dict[tuple[str, str], Result]:
    """Results by model family and dtype."""
    return {(each.test.id.file, each.test.id.dtype): each for each in read_results(run)}


@pytest.mark.parametrize("family", TYPES)
def test_a_well_known_model_is_right_on_the_device_and_proven_to_be(
    results: dict[tuple[str, str], Result], family: str
) -> None:
    found = results[family, "float32"]
    assert (found.outcome, found.shown.ran_on, found.shown.stage) == (Outcome.PASS, RanOn.DEVICE, Stage.COMPARE)
    assert {"build", "execute", "compare"} <= found.shown.seconds.keys()
    assert "relative L2" in found.shown.message


def test_what_cannot_be_run_is_counted_with_its_reason(results: dict[tuple[str, str], Result]) -> None:
    refused = [each for each in results.values() if each.outcome is Outcome.INVALID]
    assert sorted(each.shown.rule for each in refused) == ["config-refused", "remote-code"]


def test_facts_tell_level_inputs_numbers_and_memory_of_every_attempt(
    run: RunFolder, results: dict[tuple[str, str], Result]
) -> None:
    lines = [line for path in (run.path / "models").glob("facts-*.jsonl") for line in path.read_bytes().splitlines()]
    facts = {each.key: each for each in (msgspec.json.decode(line, type=Facts) for line in lines)}
    assert set(facts) == {each.test.key for each in results.values() if not each.test.decided}
    whisper = facts[results["whisper", "float32"].test.key]
    assert whisper.level == "tiny"
    assert set(whisper.inputs) == {"input_features", "decoder_input_ids"}
    assert whisper.config["d_model"] < 100
    assert 0 < whisper.memory["parameters"] < 20_000_000 < whisper.memory["process"]
    assert all(each.relative <= whisper.allowed == 1e-5 and each.cpu > 0 for each in whisper.differences)
    assert "aten::addmm" in whisper.ops


def test_half_precision_is_compared_with_its_own_tolerance(results: dict[tuple[str, str], Result]) -> None:
    found = results["bert", "bfloat16"]
    assert found.outcome in (Outcome.PASS, Outcome.FALLBACK)
    assert "allowed 0.03" in found.shown.message


def test_the_attribution_reaches_every_model(run: RunFolder) -> None:
    lines = [json.loads(line) for line in Path(run.path / "models" / "attribution.jsonl").read_text().splitlines()]
    assert len(lines) == 7
    assert sum("signature" in each for each in lines) == 5
