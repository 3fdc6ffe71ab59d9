"""Waivers beside a comparison: which of the tests that block are waived, by which waiver."""

from collections.abc import Iterable, Sequence
from datetime import date

from conformance import store as stored
from conformance.gate import waivers
from conformance.gate.facts import Mask
from conformance.gate.waivers import Blocked, Used, Waiver
from conformance.pairs import PairClass
from conformance.store import Comparison, Store


def waive(store: Store, compared: Comparison, written: Sequence[Waiver], blocked: Mask, day: date) -> list[Used]:
    """What each waiver for the later side's target and release waives of the blocked tests (shape (tests,))."""
    mine = [each for each in written if each.concerns(compared.b.target, compared.b.release)]
    if not mine:
        return []
    named = {int(number): cause.name for cause in stored.causes(store, compared, blocked) for number in cause.numbers}
    tests = stored.numbered_tests(store, named)
    seen = [
        Blocked(number=number, id=tests[number].id, change=PairClass(int(compared.classes[number])), cause=name)
        for number, name in sorted(named.items())
    ]
    return waivers.apply(mine, seen, day)


def waived_by(used: Iterable[Used]) -> list[int]:
    """The numbers of the tests that are waived: by a waiver that has not expired."""
    return [number for each in used if not each.expired for number in each.tests]
