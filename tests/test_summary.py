"""What a run came to, in rows."""

from conformance.outcomes import Outcome, TestId
from conformance.plan import PlannedTest
from conformance.summary import grouped


def planned(suite: str, kind: str) -> PlannedTest:
    return PlannedTest(id=TestId(suite=suite, file="f", cls="c", name="n", kind=kind), definition="1")


def test_rows_are_kinds_and_name_the_suite_where_there_are_several() -> None:
    ops = [(planned("ops", "forward"), Outcome.PASS), (planned("ops", "backward"), Outcome.FAIL)]
    assert list(grouped(ops)) == ["forward", "backward"]
    both = [*ops, (planned("flex_attention", "forward"), Outcome.FALLBACK), (planned("upstream", ""), Outcome.PASS)]
    rows = grouped(both)
    assert list(rows) == ["ops: forward", "ops: backward", "flex_attention: forward", "upstream"]
    assert rows["flex_attention: forward"] == {Outcome.FALLBACK: 1}
    assert sum(each.total() for each in rows.values()) == len(both)
