"""What one test leaves changed is told, put back before the next one, and changes no outcome."""

import pytest

from conformance.outcomes import Outcome
from conformance.pytest_hooks.isolation.facets import Facet, Facets, instead, same
from tests.plugin.sessions import FILES, Session, session

O = Outcome  # noqa: E741

OUTCOMES = {
    "TestTorch::test_a_spoils_the_defaults": O.FAIL,  # PyTorch's own TestCase looks after function modes
    "TestTorch::test_b_has_the_defaults": O.UNPROVEN,
    "TestTorch::test_c_spoils_flags": O.UNPROVEN,
    "TestTorch::test_d_has_the_flags": O.UNPROVEN,
    "TestTorch::test_e_spoils_the_compiler": O.UNPROVEN,
    "TestTorch::test_f_has_a_new_compiler": O.UNPROVEN,
    "TestModes::test_a_spoils_modes": O.UNPROVEN,
    "TestModes::test_b_has_no_modes": O.UNPROVEN,
    "TestProcess::test_a_spoils_the_process": O.UNPROVEN,
    "TestProcess::test_b_has_its_process": O.UNPROVEN,
    "TestProcess::test_c_leaves_a_thread": O.UNPROVEN,
    "TestProcess::test_d_ends_it": O.UNPROVEN,
    "TestOfAClass::test_a": O.UNPROVEN,
    "TestOfAClass::test_b": O.UNPROVEN,
    "TestTidy::test_by_a_fixture": O.UNPROVEN,
    "TestRandom::test_a_draws": O.UNPROVEN,
    "TestRandom::test_b_draws_the_same": O.UNPROVEN,
    "TestTable::test_a_spoils_the_table": O.PASS,
    "TestTable::test_b_needs_the_table": O.ERROR,  # only a run alone tells that this is not its own doing
    "TestTable::test_c_needs_a_before_it": O.PASS,
    "TestTable::test_d_is_wrong_in_any_case": O.FAIL,
}
LEAKED = {
    "TestTorch::test_a_spoils_the_defaults": {"default_dtype", "default_device"},
    "TestTorch::test_c_spoils_flags": {
        "deterministic_algorithms", "float32_matmul_precision", "autocast", "num_threads", "print_options",
    },
    "TestTorch::test_e_spoils_the_compiler": {"torch._dynamo.config"},
    "TestModes::test_a_spoils_modes": {
        "function_modes", "dispatch_modes", "functorch_levels", "dual_levels", "inference_mode", "anomaly_mode",
    },
    "TestProcess::test_a_spoils_the_process": {
        "environment", "working_directory", "sys.path", "recursion_limit", "garbage_collector", "signal_handlers",
        "alarm", "hooks", "logging", "log_levels",
    },
    "TestProcess::test_c_leaves_a_thread": {"threads"},
    "TestOfAClass::test_b": {"default_dtype (class)"},
}  # fmt: skip


@pytest.fixture(scope="module")
def leaks(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return session(tmp_path_factory.mktemp("leaks"), str(FILES / "leaks.py"))


def test_a_victim_of_known_state_is_right_and_the_spoiler_keeps_its_outcome(leaks: Session) -> None:
    assert {name: each.outcome for name, each in leaks.results().items()} == OUTCOMES


def test_each_spoiler_is_recorded_with_what_it_left(leaks: Session) -> None:
    told = {
        name: {each.partition(":")[0] for each in result.shown.leaked}
        for name, result in leaks.results().items()
        if result.shown.leaked
    }
    assert told == LEAKED
    left = leaks.results()["TestTorch::test_a_spoils_the_defaults"].shown.leaked
    assert "default_dtype: torch.float64 instead of torch.float32" in left


def test_what_cannot_be_put_back_is_said(leaks: Session) -> None:
    assert leaks.results()["TestProcess::test_c_leaves_a_thread"].shown.leaked == ("threads: 1 more (cannot be reset)",)


def test_variables_are_told_by_name_and_never_with_their_value(leaks: Session) -> None:
    shown = leaks.results()["TestProcess::test_a_spoils_the_process"].shown
    assert "environment: HOME, TORCH_NEURONX_A_TEST_SETS" in shown.leaked
    assert not any(b"a secret" in path.read_bytes() for path in leaks.folder.journals.iterdir())


class Hostile:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not to be compared")

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        raise RuntimeError("nor to be shown")


def test_objects_of_a_test_are_neither_shown_nor_trusted_to_compare() -> None:
    assert same(Hostile(), Hostile()) is False
    assert instead(1, Hostile()) == "a Hostile instead of 1"
    assert instead((1, "a", True), (1, "b", True)) == "'b' instead of 'a'"


def test_state_that_does_not_go_back_is_told_and_stops_nothing() -> None:
    found = {"stuck": 1, "loose": 1}

    def refuse(_before: object) -> None:
        raise RuntimeError("no")

    state = Facets(
        (
            Facet(name="stuck", read=lambda: found["stuck"], put_back=refuse),
            Facet(name="loose", read=lambda: found["loose"], put_back=lambda kept: found.update(loose=kept)),
        )
    )
    before = state.read()
    found.update(stuck=2, loose=2)
    assert state.restore(before) == ["stuck: 2 instead of 1 (cannot be reset)", "loose: 2 instead of 1"]
    assert found == {"stuck": 2, "loose": 1}
    assert Facets(()).restore([]) == []
