"""Waivers: strictly read, matched exactly, never beyond their day."""

from datetime import date

import pytest

from conformance.errors import UsageError
from conformance.gate import documents, waivers
from conformance.gate.waivers import Blocked, Waiver
from conformance.outcomes import TestId
from conformance.pairs import PairClass

HEAD = 'reason = "known"\nlink = "https://example.org/1"\nowner = "kim"\nexpires = 2030-01-01\n'


def parsed(text: str) -> list[Waiver]:
    return waivers.parse(documents.parse("w.toml", text))


def one(rest: str, name: str = "a") -> Waiver:
    return parsed(f'[[waiver]]\nid = "{name}"\n{HEAD}{rest}')[0]


def blocked(number: int, *, op: str = "qr", change: PairClass = PairClass.REGRESSED, cause: str = "c1") -> Blocked:
    test = TestId(suite="ops", file="", cls=op, name=f"forward.{op}.float32", op=op, dtype="float32", kind="forward")
    return Blocked(number=number, id=test, change=change, cause=cause)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'[[waiver]]\nid = "a"\n{HEAD}', "w.toml:1: waiver 'a' has no scope: name one of causes, suites"),
        (f'[[waiver]]\nid = "a"\n{HEAD}ops = ["qr"]\n[[waiver]]\nid = "b"', "w.toml:8: reason is missing"),
        (f'[[waiver]]\nid = "a"\n{HEAD}opps = ["qr"]', "w.toml:7: unknown key 'opps'"),
        (f'[[waiver]]\nid = "a"\n{HEAD}ops = []', "w.toml:7: ops is []"),
        (f'[[waiver]]\nid = "a"\n{HEAD}changes = ["broken"]', "w.toml:7: changes is ['broken']"),
        (f'[[waiver]]\nid = ""\n{HEAD}', "w.toml:2: id is ''"),
        ('[[waiver]]\nid = "a"\nexpires = "2030-01-01"', "w.toml:3: expires is '2030-01-01': write the first day"),
        ('[[waiver]]\nid = "a"\nexpires = 2030-01-01T10:00:00', "w.toml:3: expires is datetime"),
        ('[[waiver]]\nid = "a"\nlink = "JIRA-7"', "w.toml:3: link is 'JIRA-7': write an address"),
        ("[waiver]\nid = 3", "w.toml:1: waiver is {'id': 3}: write each as [[waiver]]"),
        ("waivers = []", "w.toml:1: unknown key 'waivers'"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        parsed(text)
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("scope", "covered"),
    [
        ('ops = ["qr"]', True),
        ('ops = ["q"]', False),
        ('causes = ["c1"]', True),
        ('causes = ["c"]', False),
        ('ops = ["qr"]\nchanges = ["fell_back"]', False),
        ('ops = ["qr"]\nchanges = ["regressed"]\ndtypes = ["float32"]\nsuites = ["ops"]', True),
        ('ops = ["qr"]\nsuites = ["models"]', False),
        ('tests = ["ops::::qr::forward.qr.float32"]', True),
    ],
)
def test_every_list_that_is_given_must_have_the_test_s_part_exactly(scope: str, covered: bool) -> None:
    assert one(scope).covers(blocked(1)) is covered


def test_a_waiver_holds_for_its_targets_and_releases_alone() -> None:
    found = one('ops = ["qr"]\ntargets = ["trn2"]\nreleases = ["2.30"]')
    assert found.concerns("trn2", "2.30")
    assert not found.concerns("trn3", "2.30")
    assert not found.concerns("trn2", "2.31")


def test_an_expired_waiver_waives_nothing_and_tells_what_it_would_and_an_unused_one_is_seen() -> None:
    found = [one('ops = ["qr"]', "late"), one('ops = ["lu"]', "idle")]
    tests = [blocked(1), blocked(2)]
    before = {each.waiver.id: each for each in waivers.apply(found, tests, date(2029, 12, 31))}
    assert (before["late"].expired, before["late"].tests, before["idle"].tests) == (False, (1, 2), ())
    after = {each.waiver.id: each for each in waivers.apply(found, tests, date(2030, 1, 1))}
    assert (after["late"].expired, after["late"].tests) == (True, (1, 2))


def test_a_test_that_two_waivers_cover_is_counted_once() -> None:
    found = waivers.apply([one('ops = ["qr"]'), one('causes = ["c1"]', "b")], [blocked(1)], date(2029, 1, 1))
    assert sorted(len(each.tests) for each in found) == [0, 1]
