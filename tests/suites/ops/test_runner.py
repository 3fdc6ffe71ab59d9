"""From a trial to an attempt: every way a test can end, its journal, and one sample alone."""

import unittest
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from conformance import journal
from conformance.journal import Journal
from conformance.opsets import Names, Reach
from conformance.outcomes import Outcome, RanOn, Stage
from conformance.plan import Expected, PlannedTest
from conformance.suites import Bench
from conformance.suites.ops import suite
from tests.suites.ops.doubles import Double, attempt, attempt_with, identity


def raising(error):
    def function(*args, **kwargs):
        raise error

    return function


def test_a_right_answer_of_the_device_is_a_pass():
    made = attempt("forward", "add")
    assert (made.outcome, made.ran_on, made.stage) == (Outcome.PASS, RanOn.DEVICE, Stage.COMPARE)
    assert set(made.seconds) == {"setup", "execute", "compare"}


def test_a_wrong_answer_names_the_sample_and_how_to_run_it_alone():
    made = attempt_with("forward", "add", lambda *args, **kwargs: torch.add(*args, **kwargs) + 1)
    assert (made.outcome, made.rule) == (Outcome.FAIL, "assertion")
    first, worst, sample, alone = made.message.splitlines()
    assert first == "MismatchError: values of output differ from the CPU's"
    assert "absolute error 1" in worst
    assert sample.startswith("sample 0: float32[")
    assert alone == "alone: conformance repro ops::forward::add::float32 --sample 0"


def test_a_refusal_is_an_error_and_names_the_sample():
    made = attempt_with("forward", "add", raising(NotImplementedError("no kernel")))
    assert (made.outcome, made.rule, made.stage) == (Outcome.ERROR, "refused", Stage.EXECUTE)
    assert "sample 0" in made.message


def test_a_code_of_the_compiler_makes_a_compile_failure():
    made = attempt_with("forward", "add", raising(RuntimeError("[NCC_EVRF001] Operator add is not supported")))
    assert (made.outcome, made.code) == (Outcome.COMPILE_FAIL, "NCC_EVRF001")


def test_a_sick_machine_is_infra_even_where_a_refusal_is_awaited():
    error = RuntimeError("NRT status 101: execution unit is broken")
    assert attempt_with("error_inputs", "dot", raising(error)).outcome is Outcome.INFRA
    assert attempt_with("inplace", "add", raising(error), part="inplace_variant").outcome is Outcome.INFRA


def test_a_question_that_the_cpu_cannot_answer_is_invalid(monkeypatch):
    from conformance.suites.ops import catalogue

    monkeypatch.setattr(catalogue.by_name()["add"], "op", raising(RuntimeError("no such thing")))
    made = attempt("forward", "add")
    assert (made.outcome, made.rule) == (Outcome.INVALID, "ops:reference-failed")
    assert "no such thing" in made.message


def test_ops_that_ran_on_the_cpu_are_kept_with_the_fallback():
    made = attempt("forward", "add", device=Double(falls_back=frozenset({"aten::add"})))
    assert (made.outcome, made.ran_on, made.fallback_ops) == (Outcome.FALLBACK, RanOn.MIXED, ("aten::add",))


def test_a_computation_of_which_nothing_was_seen_is_unproven():
    made = attempt("forward", "add", device=Double(executes=frozenset()))
    assert (made.outcome, made.rule) == (Outcome.UNPROVEN, "nothing-executed")


@pytest.mark.parametrize("op", ["view", "transpose", "expand", "unsafe_split", "item", "empty_like"])
def test_views_metadata_and_allocations_need_no_execution(op):
    made = attempt("forward", op, device=Double(executes=frozenset()))
    assert (made.outcome, made.ran_on) == (Outcome.PASS, RanOn.NONE)


def test_in_place_views_need_no_execution_and_in_place_arithmetic_does():
    nothing = frozenset[str]()
    assert attempt("inplace", "transpose", device=Double(executes=nothing)).outcome is Outcome.PASS
    assert attempt("inplace", "add", device=Double(executes=nothing)).outcome is Outcome.UNPROVEN


def test_conjugating_in_place_computes_for_complex_numbers_alone():
    nothing = frozenset[str]()
    outcomes = [
        attempt("inplace", "conj_physical", dtype, Double(executes=nothing)).outcome
        for dtype in ("float32", "complex64")
    ]
    assert outcomes == [Outcome.PASS, Outcome.UNPROVEN]


def test_a_test_for_which_pytorch_makes_no_sample_is_ineligible():
    made = attempt("out", "equal")
    assert (made.outcome, made.rule) == (Outcome.SKIP_ELIGIBILITY, "ops:no-samples")


def test_a_sample_generator_that_skips_tells_of_the_environment(monkeypatch):
    from conformance.suites.ops import catalogue

    monkeypatch.setattr(catalogue.by_name()["add"], "sample_inputs_func", raising(unittest.SkipTest("needs scipy")))
    made = attempt("forward", "add")
    assert (made.outcome, made.message) == (Outcome.SKIP_ENVIRONMENT, "needs scipy")


def test_one_sample_can_be_run_alone_with_the_values_it_has_in_the_whole_test():
    calls: dict[int | None, list[torch.Tensor]] = {None: [], 3: []}
    for only, seen in calls.items():

        def note(first, *args, seen=seen, **kwargs):
            seen.append(first)
            return torch.add(first, *args, **kwargs)

        assert attempt_with("forward", "add", note, only=only).outcome is Outcome.PASS
    assert len(calls[3]) == 1
    assert torch.equal(calls[3][0], calls[None][3])


def run(tmp_path: Path, tests: list[PlannedTest], device: Double, sample: int | None = None) -> list[journal.Record]:
    path = tmp_path / "journal.jsonl"
    numbers = {tests[0].key: 1}
    with Journal(path) as opened:
        bench = Bench(
            target="cpu", release="installed", device=device, journal=opened, numbers=numbers, sample=sample
        )  # fmt: skip
        suite().run(tests, bench)
    return list(journal.read(path))


def planned(kind: str, op: str, expected: Expected | None = None) -> PlannedTest:
    return PlannedTest(id=identity(kind, op), definition="", expected=expected)


def test_each_test_is_journalled_as_begin_stages_and_end(tmp_path):
    records = run(tmp_path, [planned("backward", "mul"), planned("forward", "add")], Double())
    told = [
        (each.t.split("::")[1], each.s if isinstance(each, journal.Staged) else each.n)
        for each in records
        if not isinstance(each, journal.Session | Names | Reach)
    ]
    assert told == [
        ("backward", 2), ("backward", "execute"), ("backward", "compare"), ("backward", "backward"), ("backward", 2),
        ("forward", 1), ("forward", "execute"), ("forward", "compare"), ("forward", 1),
    ]  # fmt: skip


def test_a_foreseen_failure_ends_as_xfail_and_its_absence_as_xpass(tmp_path):
    expected = Expected(rule="expect:1", reason="known")
    assert run(tmp_path, [planned("forward", "add", expected)], Double())[-2].o is Outcome.XPASS
    refusing = Double(device="meta")
    assert run(tmp_path, [planned("forward", "add", expected)], refusing)[-2].o is Outcome.XFAIL


def test_a_sample_that_is_not_there_is_named_and_is_no_skip():
    made = attempt("forward", "add", only=9999)
    assert (made.outcome, made.rule) == (Outcome.INVALID, "ops:no-such-sample")
    assert made.message.startswith("there is no sample 9999: this test has ")


def test_the_command_in_a_message_names_target_and_release(tmp_path):
    records = run(tmp_path, [planned("forward", "add")], Double(device="meta"))
    alone = records[-2].m.splitlines()[-1]
    assert alone == "alone: conformance repro ops::forward::add::float32 --target cpu --release installed --sample 0"


def test_a_test_that_cannot_be_prepared_is_an_error_even_if_foreseen_and_the_rest_go_on(tmp_path):
    gone = PlannedTest(
        id=replace(identity("forward", "add"), cls="gone"), definition="", expected=Expected(rule="expect:1")
    )
    ends = [
        each for each in run(tmp_path, [gone, planned("forward", "add")], Double()) if isinstance(each, journal.End)
    ]
    assert [(each.o, each.r) for each in ends] == [(Outcome.ERROR, "ops:not-prepared"), (Outcome.PASS, "")]


def test_an_interrupt_leaves_the_loop_with_the_test_open(tmp_path, monkeypatch):
    from conformance.suites.ops import catalogue

    monkeypatch.setattr(catalogue.by_name()["add"], "op", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, [planned("forward", "add")], Double())
    records = list(journal.read(tmp_path / "journal.jsonl"))
    assert isinstance(records[1], journal.Begin)
    assert not any(isinstance(each, journal.End) for each in records)


def test_warnings_of_samples_stay_inside(tmp_path, recwarn, capfd):
    run(tmp_path, [planned("forward", "var")], Double())
    assert not recwarn.list
    assert capfd.readouterr().err == ""
