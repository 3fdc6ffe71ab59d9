"""Models and their calls in one run on the simulated device, with faults in two ops."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance import settings, targets
from conformance.errors import UsageError
from conformance.expectations import Chosen
from conformance.outcomes import Outcome
from conformance.plan import Selection, covers
from conformance.progress import Silent
from conformance.record import Result, RunFolder, read_results
from conformance.supervision.running import Request, Runner
from conformance.supervision.watch import Limits
from sweeps.calls import gathering, report
from sweeps.calls.cli import show_blockers
from sweeps.calls.planning import digest_of
from sweeps.calls.report import Report

pytestmark = pytest.mark.slow
FAULTS = '[[fault]]\nkind = "wrong"\nop = "gelu"\n[[fault]]\nkind = "crash"\nop = "relu"\n'


def request_of(selection: Selection) -> Request:
    """A run of the newest simulated release."""
    target = targets.get("sim")
    return Request(
        target=target, release=target.releases()[-1], selection=selection, workers=1, limits=Limits(), told=Chosen()
    )


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """Runs in a home of their own, under the faults."""
    home = tmp_path_factory.mktemp("joined")
    (home / "faults.toml").write_text(FAULTS)
    known = settings.Settings(home=home, cache=settings.load().cache, database_url="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONFORMANCE_SIM_FAULTS", str(home / "faults.toml"))
        patch.setenv("CONFORMANCE_HOME", str(home))
        yield Runner(settings=known, progress=Silent(), say=lambda _line: None, stopped=lambda: False)


@pytest.fixture(scope="module")
def run(runner: Runner) -> RunFolder:
    """A finished run: bert (gelu) is wrong, t5 (relu) kills its process, llama is right, one has no signature."""
    catalogue = runner.settings.home / "models.jsonl"
    rows = [{"id": f"x/{each}", "model_type": each, "downloads": 5} for each in ("bert", "t5", "llama", "mine")]
    rows.append({"id": "x/bert-again", "model_type": "bert", "downloads": 2})
    catalogue.write_text("\n".join(map(json.dumps, rows)))
    ended = runner.start(request_of(Selection(suites=("models", "model_ops"), catalogue=str(catalogue))))
    assert ended.error is None
    return ended.folder


@pytest.fixture(scope="module")
def results(run: RunFolder) -> list[Result]:
    """Its results."""
    return read_results(run)


@pytest.fixture(scope="module")
def found(run: RunFolder) -> Report:
    """Its report."""
    return report.read(run)


def test_each_distinct_call_is_a_test_of_its_own(results: list[Result]) -> None:
    calls = [each for each in results if each.test.id.suite == "model_ops"]
    assert len({digest_of(each.test.id) for each in calls}) == len(calls) > 150
    wrong = {each.test.id.op: each.outcome for each in calls if each.outcome not in (Outcome.PASS, Outcome.FALLBACK)}
    assert wrong == {"gelu": Outcome.FAIL, "relu": Outcome.CRASH}
    addmm = next(each for each in calls if each.test.id.op == "addmm")
    assert addmm.test.id.cls == "aten.addmm.default"
    assert "aten::addmm(float32[" in addmm.shown.message


def test_views_ran_nowhere_and_the_rest_on_the_device(results: list[Result]) -> None:
    where = {each.test.id.op: each.shown.ran_on.value for each in results if each.test.id.suite == "model_ops"}
    assert (where["view"], where["t"], where["_unsafe_view"], where["mm"]) == ("none", "none", "none", "device")


def test_a_failure_of_a_model_is_pinned_to_the_call(found: Report) -> None:
    ((way, bert),) = found.standings("x/bert-again")
    assert (bert.outcome, list(bert.ops), bert.closed) == (Outcome.FAIL, ["aten::gelu"], True)
    assert [found.witnesses.calls.calls[each].base for each in bert.calls] == ["aten::gelu"]
    ((_, t5),) = found.standings("x/t5")
    assert (t5.outcome, list(t5.ops)) == (Outcome.CRASH, ["aten::relu"])
    ((_, llama),) = found.standings("x/llama")
    assert (llama.outcome, dict(llama.ops)) == (Outcome.PASS, {})
    assert [(each.ops, each.frees.models, each.frees.downloads) for each in way.steps] == [
        (("aten::gelu",), 2, 7), (("aten::relu",), 1, 5)
    ]  # fmt: skip


def test_every_model_of_the_catalogue_is_counted_once(found: Report) -> None:
    (way,) = found.ways
    assert way.catalogue == way.planned.models + way.not_planned.models + way.refused == 5
    assert (way.right.models, way.held.models, way.refused) == (1, 3, 1)
    with pytest.raises(UsageError, match="has no signature: models::"):
        found.standings("x/mine")
    with pytest.raises(UsageError, match="there is no model 'x/nobody'"):
        found.standings("x/nobody")


def test_the_command_says_it_in_words_and_in_json(run: RunFolder, runner: Runner) -> None:
    said = CliRunner().invoke(show_blockers, [], catch_exceptions=False).output
    assert "SIMULATION" in said
    assert "eager float32: 5 models, 4 of them planned in this way, 0 not, 1 without signature" in said
    told = json.loads(CliRunner().invoke(show_blockers, [str(run.path), "--format", "json"]).output)
    assert [each["op"] for each in told["ways"][0]["ops"]] == ["aten::gelu", "aten::relu"]
    assert told["ways"][0]["ops"][0]["call"].startswith("aten::gelu(float32[")
    one = CliRunner().invoke(show_blockers, ["--model", "x/t5"], catch_exceptions=False).output
    assert "x/t5, eager float32: crash" in one
    assert "aten::relu(float32[" in one
    assert isinstance(CliRunner().invoke(show_blockers, ["--mode", "train"]).exception, UsageError)


def test_the_calls_of_an_earlier_run_are_replayed_without_its_models(runner: Runner, run: RunFolder) -> None:
    selection = Selection(suites=("model_ops",), calls=str(run.path), ops=("silu", "relu"))
    ended = runner.start(request_of(selection))
    assert ended.error is None
    again = read_results(ended.folder)
    assert {each.test.id.op for each in again} == {"silu", "relu"}
    assert not covers(selection, again[0].test.id, "default")
    assert report.read(run, ended.folder).replays == ended.folder.read_header().run


def test_a_run_without_calls_cannot_be_replayed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names a run without recorded calls"):
        gathering.of_run(tmp_path, tmp_path / "model_ops")
