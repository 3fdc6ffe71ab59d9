"""Cases run to their outcomes by the supervisor: with and without PyTorch's list of devices extended."""

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
from sweeps.flex.facts import Facts, Part

pytestmark = pytest.mark.slow

SHORT, LONG = "B2-H4-S256-D64", "B1-H4-S1024-D128"
KEYS = (
    f"core::causal::{SHORT}_float32", f"core::softcap-sliding::{SHORT}_bfloat16", f"core::natten::{LONG}_float32",
    f"core::softcap-causal::{LONG}_float32", "gqa::document::B2-H8-KV1-Q1-K512-D64_float32",
    "gqa::alibi::B2-H8-KV2-S200-D80_float32", f"backward::relative-bias::{SHORT}_float32",
    f"backward::causal::{SHORT}_bfloat16", f"extra::dynamic::{SHORT}+B2-H4-S384-D64_float32",
    f"extra::plain-call::{SHORT}_float32", f"extra::logsumexp::{SHORT}_float32", f"extra::float16::{SHORT}_float16",
)  # fmt: skip


def run(
    home: Path, keys: tuple[str, ...], release: str = "sim-1.0", target: str = "sim", *, extended: bool = True
) -> RunFolder:
    """A finished run of some cases on one worker."""
    selection = Selection(
        suites=("flex_attention",), keys=tuple(f"flex_attention::{each}" for each in keys),
        extend_flex_devices=extended,
    )  # fmt: skip
    request = Request(
        target=targets.get(target), release=release, selection=selection, workers=1, limits=Limits(), told=Chosen()
    )
    known = settings.Settings(home=home, cache=settings.load().cache, database_url="")
    runner = Runner(settings=known, progress=Silent(), say=lambda _line: None, stopped=lambda: False)
    ended = runner.start(request)
    assert ended.error is None
    return ended.folder


def results(folder: RunFolder) -> dict[str, Result]:
    return {each.test.key.removeprefix("flex_attention::"): each for each in read_results(folder)}


def facts(folder: RunFolder) -> dict[str, dict[str, Part]]:
    """The parts of each case by name."""
    lines = [
        line for path in folder.path.glob("flex_attention/facts-*.jsonl") for line in path.read_text().splitlines()
    ]
    found = [msgspec.json.decode(line, type=Facts) for line in lines]
    return {each.key.removeprefix("flex_attention::"): {part.name: part for part in each.parts} for each in found}


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return run(tmp_path_factory.mktemp("flex"), KEYS)


@pytest.fixture(scope="module")
def parts(extended: RunFolder) -> dict[str, dict[str, Part]]:
    return facts(extended)


def test_forward_and_backward_cases_are_right_eager_and_compiled(parts: dict[str, dict[str, Part]]) -> None:
    assert parts.keys() == set(KEYS)
    eager = {key: part["eager"] for key, part in parts.items() if "plain-call" not in key}
    assert {each.outcome for each in eager.values()} == {"pass"}
    assert {each.ran_on for each in eager.values()} == {"device"}
    refused = ("dynamic", "plain-call", "natten")
    compiled = {key: part["compiled"] for key, part in parts.items() if not any(each in key for each in refused)}
    assert {each.outcome for each in compiled.values()} == {"pass"}
    assert all(each.nodes > 0 and not each.warm for each in compiled.values())


def test_what_leaves_the_device_is_told_of_the_part_that_it_is_in(
    extended: RunFolder, parts: dict[str, dict[str, Part]]
) -> None:
    shown = results(extended)[KEYS[0]]
    assert (shown.outcome, shown.shown.ran_on, shown.shown.stage) == (
        Outcome.FALLBACK, RanOn.MIXED, Stage.COMPILED_COMPARE,
    )  # fmt: skip
    assert shown.shown.fallback_ops == ("aten::sort",)
    assert (parts[KEYS[0]]["mask"].fallback, parts[KEYS[0]]["eager"].fallback) == (("aten::sort",), ())
    assert "mask: fallback: right, aten::sort on the CPU" in shown.shown.message
    assert "of 300" in shown.shown.message


def test_gradients_of_every_input_and_of_what_is_learned_are_compared(parts: dict[str, dict[str, Part]]) -> None:
    found = {each.name for each in parts[f"backward::relative-bias::{SHORT}_float32"]["compiled"].differences}
    assert found == {"output", *(f"gradient of {each}" for each in ("query", "key", "value", "learned[0]"))}
    assert {each.name for each in parts[f"extra::logsumexp::{SHORT}_float32"]["eager"].differences} == {
        "output", "logsumexp",
    }  # fmt: skip


def test_a_modelled_compile_time_beyond_the_limit_is_a_compile_timeout_and_no_other_is(
    extended: RunFolder, parts: dict[str, dict[str, Part]]
) -> None:
    natten = f"core::natten::{LONG}_float32"
    shown = results(extended)[natten].shown
    assert (shown.outcome, shown.rule, shown.stage) == (Outcome.COMPILE_TIMEOUT, "flex-compile-limit", Stage.COMPILE)
    # 256 tiles, each with 13 operations of the mask, as the table of sim-1.0 has it; one more node takes the output.
    assert parts[natten]["compiled"].compile_seconds == pytest.approx(0.8 + 0.05 + 256 * 0.15 * 14)
    beyond = {key for key, part in parts.items() if part["compiled"].compile_seconds > 300}
    assert (
        beyond
        == {natten}
        == {key for key, each in results(extended).items() if each.outcome is Outcome.COMPILE_TIMEOUT}
    )


def test_the_compiler_s_refusals_are_foreseen_by_their_codes(extended: RunFolder) -> None:
    found = {key: (each.outcome, each.shown.code) for key, each in results(extended).items() if each.shown.code}
    assert found == {
        KEYS[8]: (Outcome.XFAIL, "NCC_EMOD025"), KEYS[9]: (Outcome.XFAIL, "NCC_EVRF001"),
    }  # fmt: skip


def test_the_option_is_in_the_selection_and_the_environment_of_the_run(extended: RunFolder) -> None:
    header = extended.read_header()
    assert header.selection.extend_flex_devices
    assert header.environment["option.extend-flex-devices"] == "on"
    kept = json.loads((extended.path / "flex_attention" / "cases.json").read_text())
    assert {each["extended"] for each in kept.values()} == {True}


def test_without_the_option_pytorch_s_list_is_respected_and_the_refusal_is_an_outcome(tmp_path: Path) -> None:
    folder = run(tmp_path, (KEYS[0], KEYS[9]), extended=False)
    for each in results(folder).values():
        assert (each.outcome, each.shown.rule) == (Outcome.ERROR, "flex-device-list")
        assert "Found input tensors on neuron device" in each.shown.message
    assert "option.extend-flex-devices" not in folder.read_header().environment


def test_on_the_cpu_forward_is_right_and_backward_does_not_apply(tmp_path: Path) -> None:
    found = results(run(tmp_path, (KEYS[0], KEYS[7]), "installed", "cpu", extended=False))
    assert found[KEYS[0]].outcome is Outcome.PASS
    assert (found[KEYS[7]].outcome, found[KEYS[7]].shown.rule) == (Outcome.SKIP_ELIGIBILITY, "flex-no-backward")


def test_a_wrong_kernel_is_a_fail_that_names_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = tmp_path / "faults.toml"
    faults.write_text('[[fault]]\nkind = "wrong"\nop = "_softmax"\n')
    monkeypatch.setenv("CONFORMANCE_SIM_FAULTS", str(faults))
    (found,) = results(run(tmp_path, (KEYS[0],))).values()
    assert (found.outcome, found.shown.rule) == (Outcome.FAIL, "assertion")
    assert "eager: fail: output is wrong: a row is" in found.shown.message
