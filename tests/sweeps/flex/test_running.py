"""What a case ends as, on the CPU as a device that says of itself what a test wants it to say."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from conformance import targets
from conformance.outcomes import Attempt, Outcome, RanOn, Stage
from conformance.suites.ops.quiet import quiet
from conformance.targets import Compiled, Device
from conformance.targets.cpu import Processor
from sweeps.flex import parts, questions, running
from sweeps.flex.cases import Case, Shape
from sweeps.flex.facts import Facts, Part
from sweeps.flex.trial import Trial

SMALL = Shape(batch=1, heads=2, kv_heads=2, queries=32, keys=32, width=8, value_width=8)
CASE = Case(group="extra", variant="causal", mods="causal", dtype="float32", shapes=(SMALL,), compile_limit=10.0)


@dataclass(frozen=True, kw_only=True)
class Telling:
    """The CPU, but for what it tells: its trackers' fallback ops, and its graphs."""

    cpu: Processor = field(default_factory=Processor)
    tracks: bool = True
    fallback: frozenset[str] = frozenset()
    graphs: tuple[Compiled, ...] | None = None
    compile_backend: str = "conformance_cpu"

    def fallback_ops(self) -> frozenset[str]:
        return self.fallback

    def compiled(self) -> tuple[Compiled, ...]:
        return self.cpu.compiled() if self.graphs is None else self.graphs

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cpu, name)


@pytest.fixture(autouse=True)
def _cpu() -> Iterator[None]:
    targets.get("cpu").activate("installed")
    with quiet():
        yield
    torch._dynamo.reset()


def attempt(device: Device, case: Case = CASE) -> tuple[Attempt, dict[str, Part], list[Stage]]:
    """The attempt, its parts, and the stages that were told of."""
    told = Facts(key="k", number=1, compile_limit=case.compile_limit, allowed=1e-5, extended=False)
    stages: list[Stage] = []
    made = running.attempt(Trial(case=case, device=device, facts=told, enter=stages.append))
    return made, {each.name: each for each in told.parts}, stages


def graph(seconds: float, *, warm: bool = False, nodes: int = 3) -> Compiled:
    return Compiled(graph="g", nodes=nodes, compile_seconds=seconds, warm=warm)


def test_three_parts_are_right_in_order_of_their_stages() -> None:
    made, done, stages = attempt(Telling())
    assert (made.outcome, made.ran_on, made.stage) == (Outcome.PASS, RanOn.DEVICE, Stage.COMPILED_COMPARE)
    assert list(done) == ["mask", "eager", "compiled"]
    assert done["compiled"].nodes > 0
    assert stages == [
        Stage.EXECUTE, Stage.COMPARE, Stage.EXECUTE, Stage.COMPARE, Stage.COMPILE, Stage.COMPILED_FORWARD,
        Stage.COMPILED_COMPARE,
    ]  # fmt: skip
    assert {"setup", "compare", "execute", "compile"} == made.seconds.keys()


@pytest.mark.parametrize(
    ("device", "outcome", "rule"),
    [
        (Telling(tracks=False), Outcome.UNPROVEN, "no-tracker"),
        (Telling(graphs=()), Outcome.UNPROVEN, "no-compiled-node"),
        (Telling(fallback=frozenset({"aten::sort"})), Outcome.FALLBACK, "fallback-ops"),
        (Telling(graphs=(graph(6.0), graph(5.0))), Outcome.COMPILE_TIMEOUT, "flex-compile-limit"),
        (Telling(graphs=(graph(10.0),)), Outcome.PASS, ""),
        (Telling(graphs=(graph(0.1, warm=True),)), Outcome.PASS, ""),
    ],
)  # fmt: skip
def test_what_the_device_tells_decides(device: Device, outcome: Outcome, rule: str) -> None:
    made, done, _ = attempt(device)
    assert (made.outcome, made.rule) == (outcome, rule)
    if outcome is Outcome.COMPILE_TIMEOUT:
        assert made.message.startswith("compiled: compile_timeout: right, but compiling took 11.0 s, more than")
        assert made.stage is Stage.COMPILE
    if done["compiled"].warm:
        assert "found in the cache: the limit was not put to the test" in made.message


def doubled(function: Callable[..., Any]) -> Callable[..., Any]:
    def twice(*args: Any, **kwargs: Any) -> Any:
        return 2 * function(*args, **kwargs)

    return twice


def test_a_wrong_eager_answer_is_told_first_and_the_compiled_part_is_tried_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forward = questions.Placed.forward
    real = parts.flex_attention

    def wrong(self: Any, attention: Any, mask: Any) -> Any:
        return forward(self, doubled(attention) if attention is real else attention, mask)

    monkeypatch.setattr(questions.Placed, "forward", wrong)
    made, done, _ = attempt(Telling())
    assert (made.outcome, made.rule, made.stage) == (Outcome.FAIL, "assertion", Stage.COMPARE)
    assert made.message.startswith("eager: fail: output is wrong: a row is 1 off at [0, ")
    assert made.cause == "flex_attention: output of eager"
    assert {name: each.outcome for name, each in done.items()} == {"mask": "pass", "eager": "fail", "compiled": "pass"}


def test_a_refusal_in_one_part_does_not_keep_the_other_from_being_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError("no such kernel")

    forward, real = questions.Placed.forward, parts.flex_attention
    monkeypatch.setattr(
        questions.Placed, "forward",
        lambda self, attention, mask: refuses() if attention is real else forward(self, attention, mask),
    )  # fmt: skip
    made, done, _ = attempt(Telling())
    assert (made.outcome, made.rule) == (Outcome.ERROR, "refused")
    assert "no such kernel" in made.message
    assert done["compiled"].outcome == "pass"


def test_a_block_mask_that_marks_other_blocks_than_the_cpu_s_is_a_fail_and_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = Shape(batch=1, heads=1, kv_heads=1, queries=256, keys=256, width=8, value_width=8)
    real, calls = questions.create_block_mask, []

    def wrong_at_first(mask: Any, *sizes: Any, **options: Any) -> Any:
        calls.append(sizes)
        return real(questions.noop_mask if len(calls) == 1 else mask, *sizes, **options)

    monkeypatch.setattr(questions, "create_block_mask", wrong_at_first)
    made, done, _ = attempt(Telling(), Case(**{**_fields(CASE), "shapes": (long,)}))
    assert (made.outcome, list(done)) == (Outcome.FAIL, ["mask"])
    assert "of 4 blocks of the block mask are marked otherwise than on the CPU" in made.message


def _fields(case: Case) -> dict[str, Any]:
    return {name: getattr(case, name) for name in case.__struct_fields__}


def test_a_dense_answer_that_cannot_be_had_makes_the_question_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_question: Any) -> Any:
        raise RuntimeError("no memory for this")

    monkeypatch.setattr(running.reference, "answer", fails)
    made, done, _ = attempt(Telling())
    assert (made.outcome, made.rule, done) == (Outcome.INVALID, "flex:reference-failed", {})


def test_what_is_known_before_compiling_is_kept_for_a_compiler_that_never_comes_back() -> None:
    told = Facts(key="k", number=1, compile_limit=10.0, allowed=1e-5, extended=False)
    kept: list[list[str]] = []
    device: Any = Telling()
    running.attempt(
        Trial(case=CASE, device=device, facts=told, keep=lambda found: kept.append([each.name for each in found.parts]))
    )
    assert kept == [["mask", "eager"]]


def test_gradients_that_pytorch_does_not_have_on_the_cpu_are_not_charged_to_a_device() -> None:
    made, done, _ = attempt(Telling(), Case(**{**_fields(CASE), "backward": True}))
    assert (made.outcome, made.rule) == (Outcome.SKIP_ELIGIBILITY, "flex-no-backward")
    assert list(done) == ["mask", "eager"]
