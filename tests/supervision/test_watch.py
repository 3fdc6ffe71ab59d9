"""What a child's journal says about its time."""

from dataclasses import replace

from conformance import journal
from conformance.outcomes import Attempt, Outcome, Stage
from conformance.supervision import deaths
from conformance.supervision.watch import Limits, Overdue, Watch

LIMITS = Limits(test=10, compile=100, idle=50)


def begin(key: str = "a", number: int = 1) -> journal.Begin:
    return journal.Begin(t=key, n=number, at=0, pid=1)


def stage(name: Stage, key: str = "a") -> journal.Staged:
    return journal.Staged(t=key, s=name, at=0)


def test_a_test_is_overdue_by_its_time_without_compilation() -> None:
    watch = Watch(limits=LIMITS, since=0)
    watch.take([begin()], 0)
    watch.take([stage(Stage.COMPILE)], 6)
    watch.take([stage(Stage.EXECUTE)], 96)
    assert watch.overdue(99) is None
    assert watch.overdue(101) is Overdue.TEST
    assert watch.open is not None
    assert watch.open.phases(101) == {"setup": 6, "compile": 90, "execute": 5}


def test_a_compile_stage_has_its_own_limit() -> None:
    watch = Watch(limits=LIMITS, since=0)
    watch.take([begin(), stage(Stage.COMPILE)], 0)
    assert watch.overdue(99) is None
    assert watch.overdue(101) is Overdue.COMPILE


def test_a_warm_compilation_has_the_limit_of_a_cold_one_to_itself() -> None:
    watch = Watch(limits=LIMITS, since=0)
    watch.take([begin(), stage(Stage.COMPILE)], 0)
    watch.take([stage(Stage.WARM)], 90)
    assert watch.overdue(189) is None
    assert watch.overdue(191) is Overdue.COMPILE


def test_a_single_stage_may_have_a_limit_of_its_own_which_is_named() -> None:
    limits = replace(LIMITS, stages={Stage.FORWARD: 3, Stage.COMPILE: 20, Stage.REFERENCE: 4})
    watch = Watch(limits=limits, since=0)
    watch.take([begin(), stage(Stage.FORWARD)], 0)
    assert watch.overdue(2) is None
    assert watch.overdue(4) is Overdue.STAGE
    assert watch.open is not None
    attempt = deaths.timeout(watch.open, Overdue.STAGE, limits, "", 4)
    assert (attempt.outcome, attempt.stage) == (Outcome.TIMEOUT, Stage.FORWARD)
    assert attempt.message == "killed in stage forward after more than 3 s (--stage-timeout)"
    watch.take([stage(Stage.COMPILE)], 4)
    assert watch.overdue(25) is Overdue.COMPILE


def test_what_the_cpu_takes_too_long_for_is_no_question_to_the_device() -> None:
    watch = Watch(limits=LIMITS, since=0)
    watch.take([begin(), stage(Stage.REFERENCE)], 0)
    assert watch.overdue(11) is Overdue.TEST
    assert watch.open is not None
    attempt = deaths.timeout(watch.open, Overdue.TEST, LIMITS, "", 11)
    assert (attempt.outcome, attempt.rule) == (Outcome.INVALID, "reference-timeout")
    assert attempt.seconds == {"setup": 0, "compare": 11}


def test_a_child_without_an_open_test_may_be_idle_for_a_while() -> None:
    watch = Watch(limits=LIMITS, since=0)
    assert watch.overdue(49) is None
    watch.take([journal.Session(state="ready", at=0)], 40)
    assert watch.ready
    assert watch.overdue(89) is None
    assert watch.overdue(91) is Overdue.IDLE


def test_the_clock_starts_again_with_each_test_and_stops_at_its_end() -> None:
    watch = Watch(limits=LIMITS, since=0)
    end = journal.end_record("a", 1, Attempt(outcome=Outcome.INFRA))
    watch.take([begin(), end], 9)
    assert watch.overdue(20) is None
    assert watch.lost_to_machine == ["a"]
    watch.take([begin("b")], 20)
    assert watch.overdue(29) is None
    assert watch.overdue(31) is Overdue.TEST


def test_records_of_another_test_than_the_open_one_do_not_move_its_stage() -> None:
    watch = Watch(limits=LIMITS, since=0)
    watch.take([begin("a"), stage(Stage.COMPILE, "b")], 0)
    assert watch.open is not None
    assert watch.open.stage is Stage.SETUP
