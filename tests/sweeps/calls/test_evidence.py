"""What shows that an op stood between a model and the device."""

from typing import Any

import pytest

from conformance.inventory.overloads import Overloads, Registration, Tells
from conformance.outcomes import Attempt, Outcome, TestId
from conformance.plan import PlannedTest
from conformance.record import Result
from sweeps.calls.evidence import How, Replayed, Witnesses, named
from sweeps.calls.files import Calls
from sweeps.calls.specs import Call

RELU = Call(op="aten::relu", args=({"t": "float32", "s": [2]},))
SORT = Call(op="aten::sort", args=({"t": "int64", "s": [2]},))


def ended(outcome: Outcome, **more: Any) -> Result:
    """A model that ended so; it calls relu and sort."""
    test = TestId(suite="models", file="toy", cls="Toy", name="abc_eager_float32", dtype="float32", kind="eager")
    attempt = Attempt(outcome=outcome, **more)
    return Result(test=PlannedTest(id=test, definition="1"), attempts=(attempt,), outcome=outcome, flaky=False)


def witnesses(replayed: dict[str, Outcome] | None = None, overloads: Overloads | None = None) -> Witnesses:
    """Calls of the toy, and what some of them came to alone."""
    known = Calls(calls={each.digest: each for each in (RELU, SORT)}, models={("abc", "float32"): {
        RELU.digest: 2, SORT.digest: 1,
    }})  # fmt: skip
    return Witnesses(calls=known, overloads=overloads, replayed=Replayed(outcomes=replayed or {}))


def test_a_fallback_tells_all_of_its_ops() -> None:
    found = witnesses().standing(ended(Outcome.FALLBACK, fallback_ops=("aten::sort",)))
    assert found.ops == {"aten::sort": frozenset({How.FALLBACK})}
    assert found.closed


def test_a_refusal_names_one_op_and_leaves_open_whether_there_are_more() -> None:
    message = (
        "NotImplementedError: Could not run 'aten::sort.stable' with arguments from the 'X' backend. aten::add is fine"
    )
    found = witnesses().standing(ended(Outcome.ERROR, rule="refused", message=message))
    assert found.ops == {"aten::sort": frozenset({How.REFUSED})}
    assert not found.closed


def test_any_other_exception_names_nothing_whatever_its_text() -> None:
    found = witnesses().standing(ended(Outcome.ERROR, rule="exception", message="aten::sort() expected an int"))
    assert (found.ops, found.closed) == ({}, False)


def test_a_compiler_names_the_op_that_it_refuses() -> None:
    message = "CompilationError: [NCC_EVRF001] operator is not supported: aten.sort.default: no kernel"
    found = witnesses().standing(ended(Outcome.COMPILE_FAIL, message=message))
    assert found.ops == {"aten::sort": frozenset({How.COMPILER})}


def test_a_wrong_answer_is_pinned_to_the_call_that_is_wrong_alone() -> None:
    replayed = {RELU.digest: Outcome.FAIL, SORT.digest: Outcome.PASS}
    found = witnesses(replayed).standing(ended(Outcome.FAIL, rule="assertion"))
    assert found.ops == {"aten::relu": frozenset({How.REPLAYED})}
    assert found.calls == {RELU.digest: "aten::relu"}
    assert found.closed


@pytest.mark.parametrize("rest", [None, Outcome.INVALID, Outcome.NOT_RUN, Outcome.UNPROVEN])
def test_what_was_not_answered_alone_leaves_the_question_open(rest: Outcome | None) -> None:
    replayed = {RELU.digest: Outcome.FAIL} | ({SORT.digest: rest} if rest else {})
    assert not witnesses(replayed).standing(ended(Outcome.FAIL)).closed


def test_replayed_calls_say_nothing_of_a_model_that_is_right() -> None:
    found = witnesses({RELU.digest: Outcome.FAIL, SORT.digest: Outcome.FALLBACK}).standing(ended(Outcome.PASS))
    assert (found.ops, found.calls) == ({}, {})


def test_the_dispatcher_tells_of_ops_that_nobody_serves() -> None:
    served = {Registration.NONE: ("aten::sort",), Registration.KERNEL: ("aten::relu",)}
    overloads = Overloads(torch="2", device="neuron", key="PrivateUse1", tells=Tells.NAMES, served=served)
    found = witnesses(overloads=overloads).standing(ended(Outcome.CRASH))
    assert found.ops == {"aten::sort": frozenset({How.REGISTERED})}


def test_a_part_of_the_inputs_with_ops_on_the_cpu_is_held_back_but_not_freed_by_them() -> None:
    found = witnesses().standing(ended(Outcome.UNPROVEN, rule="partial-inputs", fallback_ops=("aten::sort",)))
    assert (list(found.ops), found.closed) == (["aten::sort"], False)


def test_names_in_messages_are_found_however_they_are_written() -> None:
    assert named("aten::a.out, 'aten.b_.default' and aten::a again; xaten::c aten:: aten.9") == ["aten::a", "aten::b_"]


def test_a_kernel_of_the_cpu_alone_holds_nothing_back_though_nobody_else_serves_it() -> None:
    served = {Registration.NONE: ("aten::mkldnn_rnn_layer",)}
    overloads = Overloads(torch="2", device="neuron", key="PrivateUse1", tells=Tells.NAMES, served=served)
    layer = Call(op="aten::mkldnn_rnn_layer")
    known = Calls(calls={layer.digest: layer}, models={("abc", "float32"): {layer.digest: 1}})
    found = Witnesses(calls=known, overloads=overloads).standing(ended(Outcome.CRASH))
    assert found.ops == {}
