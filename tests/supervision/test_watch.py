"""What a child's journal says about its time."""

from conformance import journal
from conformance.outcomes import Attempt, Outcome, Stage
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
