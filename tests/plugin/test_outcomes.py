"""Every way in which an upstream-style test can end, recorded by a plain pytest session on the simulated device."""

import pytest

from conformance import inventory
from conformance.inventory import Status
from conformance.inventory.overloads import base_of
from conformance.outcomes import Outcome, RanOn, Stage
from tests.plugin.sessions import FILES, Session, session

O = Outcome  # noqa: E741

RIGHT = {
    "TestAnswers::test_right": (O.PASS, ""),
    "TestAnswers::test_double_float32": (O.PASS, ""),
    "TestAnswers::test_pairs_float32_int32": (O.PASS, ""),
    "TestAnswers::test_sizes_size_3": (O.PASS, ""),
    "TestAnswers::test_computes_nothing": (O.UNPROVEN, "nothing-executed"),
    "TestAnswers::test_wrong": (O.FAIL, "assertion"),
    "TestAnswers::test_raises": (O.ERROR, "exception"),
    "TestAnswers::test_refused": (O.ERROR, "refused"),
    "TestAnswers::test_falls_back": (O.FALLBACK, "fallback-ops"),
    "TestAnswers::test_breaks_every_graph": (O.UNPROVEN, "no-compiled-node"),
    "TestAnswers::test_compiles": (O.PASS, ""),
    "TestAnswers::test_does_not_compile": (O.COMPILE_FAIL, "compiler-unsupported"),
    "TestOps::test_forward_add_float32": (O.PASS, ""),
    "TestOps::test_forward_nn_functional_relu_int64": (O.PASS, ""),
}
SKIPS = {
    "TestSkippedClass::test_one": (O.SKIP_ELIGIBILITY, "upstream:decorator"),
    "TestSkips::test_decorated": (O.SKIP_ELIGIBILITY, "upstream:decorator"),
    "TestSkips::test_decorated_by_half_a_character": (O.SKIP_ELIGIBILITY, "upstream:decorator"),
    "TestSkips::test_library": (O.SKIP_ENVIRONMENT, "upstream:library"),
    "TestSkips::test_only_cuda": (O.SKIP_ELIGIBILITY, "upstream:device-gate"),
    "TestSkips::test_only_cpu": (O.SKIP_ELIGIBILITY, "upstream:device-gate"),
    "TestSkips::test_native": (O.PASS, ""),
    "TestSkips::test_slow": (O.SKIP_ENVIRONMENT, "upstream:slow"),
    "TestSkips::test_many_devices": (O.SKIP_ENVIRONMENT, "upstream:device-count"),
    "TestSkips::test_much_memory": (O.SKIP_ENVIRONMENT, "upstream:memory"),
    "TestSkips::test_skip_if": (O.SKIP_ELIGIBILITY, "upstream:gate"),
    "TestSkips::test_lazily": (O.SKIP_ELIGIBILITY, "upstream:other-device"),
    "TestSkips::test_in_the_body": (O.SKIP_ELIGIBILITY, "upstream:test-body"),
    "TestSkips::test_without_text": (O.SKIP_ELIGIBILITY, "upstream:test-body"),
    "TestSkips::test_turned_into_a_skip": (O.SKIP_COVERAGE, "backend:exception-to-skip"),
    "TestSkips::test_import": (O.SKIP_ENVIRONMENT, "upstream:library"),
    "TestSkips::test_of_a_foreign_library": (O.SKIP_UNCLASSIFIED, "no-rule"),
    "TestNotImplemented::test_refusal_is_hidden": (O.SKIP_COVERAGE, "backend:not-implemented"),
    "TestClassSetUpSkips::test_is_skipped": (O.SKIP_ELIGIBILITY, "upstream:test-body"),
    "TestPytestWays::test_marked": (O.SKIP_ELIGIBILITY, "upstream:marker"),
    "TestPytestWays::test_not_to_be_run": (O.SKIP_ELIGIBILITY, "upstream:marker"),
    "TestOps::test_forward_geqrf_float32": (O.SKIP_COVERAGE, "coverage:geqrf"),
}
EXPECTED = {
    "TestExpectations::test_fails_as_expected": (O.XFAIL, "upstream:expected-failure"),
    "TestExpectations::test_passes_unexpectedly": (O.XPASS, "upstream:expected-failure"),
    "TestExpectations::test_swallowed": (O.XFAIL, "upstream:expected-failure-swallowed"),
    "TestExpectations::test_nothing_to_swallow": (O.XPASS, "upstream:expected-failure-swallowed"),
    "TestExpectations::test_calls_xfail": (O.XFAIL, "upstream:xfail-call"),
    "TestPytestWays::test_marked_xfail": (O.XFAIL, "upstream:xfail-marker"),
    "TestPytestWays::test_loose_xpass": (O.XPASS, "upstream:xfail-marker"),
    "TestPytestWays::test_strict_xpass": (O.XPASS, "upstream:xfail-marker"),
}
AROUND = {
    "TestSubtests::test_all_right": (O.PASS, ""),
    "TestSubtests::test_one_wrong": (O.FAIL, "assertion"),
    "TestSubtests::test_one_skipped": (O.UNPROVEN, "subtest-skipped"),
    "TestPytestWays::test_subtests": (O.FAIL, "assertion"),
    "TestPytestWays::test_does_not_raise": (O.FAIL, "assertion"),
    "TestPytestWays::test_addresses[<object at 0x…>]": (O.UNPROVEN, "nothing-executed"),
    "TestNoDevice::test_plain_flag_True": (O.UNPROVEN, "nothing-executed"),
    "::test_outside_any_class": (O.UNPROVEN, "nothing-executed"),
    "TestTearDown::test_left_behind": (O.ERROR, "exception"),
    "TestTearDown::test_tidy": (O.PASS, ""),
    "TestClassSetUpFails::test_never_runs": (O.ERROR, "exception"),
    "TestClassTearDownFails::test_first": (O.PASS, ""),
}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Session:
    files = [str(FILES / name) for name in ("answers.py", "skips.py")]
    return session(tmp_path_factory.mktemp("everything"), *files)


@pytest.mark.parametrize("wanted", [RIGHT, SKIPS, EXPECTED, AROUND], ids=["right", "skips", "expected", "around"])
def test_every_test_ends_as_the_vocabulary_says(everything: Session, wanted: dict[str, tuple[Outcome, str]]) -> None:
    results = everything.results()
    got = {name: (results[name].outcome, results[name].shown.rule) for name in wanted}
    assert got == wanted


WHO = {
    "TestSkippedClass::test_one": ("decorator", "skip, on the class", ""),
    "TestSkips::test_decorated": ("decorator", "skip", '@unittest.skip("not today")'),
    "TestSkips::test_only_cuda": ("gate", "onlyOn.__call__.<locals>.only_fn", "@onlyCUDA"),
    "TestSkips::test_slow": ("gate", "slowTest.<locals>.wrapper", "@slowTest"),
    "TestSkips::test_in_the_body": ("body", "TestSkips.test_in_the_body", "self.skipTest("),
    "TestSkips::test_of_a_foreign_library": ("elsewhere", "<module>", ""),
    "TestExpectations::test_fails_as_expected": ("decorator", "expectedFailure", "@unittest.expectedFailure"),
    "TestExpectations::test_swallowed": ("gate", "expectedFailure.__call__.<locals>.efail_fn", "@expectedFailure("),
    "TestExpectations::test_calls_xfail": ("body", "pytest.xfail", ""),
    "TestPytestWays::test_marked_xfail": ("marker", "pytest.mark.xfail", ""),
    "TestOps::test_forward_geqrf_float32": None,
    "TestAnswers::test_wrong": None,
}


def test_a_skip_and_an_expected_failure_name_who_decided_and_the_line(everything: Session) -> None:
    results, lines = everything.results(), (FILES / "skips.py").read_text().splitlines()
    for name, wanted in WHO.items():
        source = results[name].shown.source
        if wanted is None or source is None:
            assert source is wanted, name
            continue
        who, code, line = wanted
        assert (source.who, source.code) == (who, code), name
        file, _, number = source.where.rpartition(":")
        assert not line or (file == "tests/upstream_style/skips.py" and line in lines[int(number) - 1]), name


def test_every_planned_test_has_its_outcome_and_a_stage_and_place_that_fit(everything: Session) -> None:
    results = everything.results()
    assert not [name for name, each in results.items() if each.outcome is Outcome.NOT_RUN or len(each.attempts) != 1]
    assert results["TestAnswers::test_right"].shown.ran_on is RanOn.DEVICE
    assert results["TestSkips::test_only_cuda"].shown.ran_on is RanOn.NONE
    assert results["TestClassSetUpFails::test_never_runs"].shown.stage is Stage.SETUP
    assert results["TestAnswers::test_falls_back"].shown.fallback_ops


def test_the_parts_of_an_identity_come_from_the_instantiation(everything: Session) -> None:
    results = everything.results()
    test = results["TestOps::test_forward_nn_functional_relu_int64"].test.id
    assert (test.file, test.op, test.dtype, test.kind) == (
        "upstream_style/answers", "nn.functional.relu", "int64", "test_forward",
    )  # fmt: skip
    pair = results["TestAnswers::test_pairs_float32_int32"].test.id
    assert (pair.op, pair.dtype, pair.kind) == ("", "float32_int32", "")
    assert not [name for name in results if "neuron" in name.lower() or "privateuse1" in name.lower()]


def test_a_message_is_the_failure_alone_and_the_detail_has_what_was_printed(everything: Session) -> None:
    shown = everything.results()["TestAnswers::test_raises"].shown
    assert shown.message == "ValueError: bad value on 1.0"
    assert "about to raise" in shown.detail
    assert "answers.py" in shown.detail


def test_the_terminal_says_what_was_recorded_and_how_to_store_it(everything: Session) -> None:
    planned = len(everything.results())
    assert f"{planned} planned: " in everything.output
    assert "release sim-1.1 (SIMULATION)" in everything.output
    assert f"conformance ingest {everything.folder.path}" in everything.output
    assert everything.folder.read_header().supervised is False


def test_the_folder_tells_which_overloads_the_tests_took(everything: Session) -> None:
    found = inventory.of_folder(everything.folder)
    assert found is not None
    assert found.tells
    assert found.statuses["aten::add.Tensor"] is Status.TESTED
    assert found.overloads.named["nn.functional.relu"] == ("aten::relu", "aten::relu_")
    assert found.statuses["aten::geqrf"] is Status.SKIPPED
    taken = everything.results()["TestAnswers::test_falls_back"].shown.fallback_ops
    assert taken
    assert all(
        any(found.evidence(full).by_fallback for full in found.registrations if base_of(full) == op) for op in taken
    )
