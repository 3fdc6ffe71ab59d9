"""From the attempts of a run to the evidence about each overload."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import msgspec

from conformance import plan, record
from conformance.errors import UsageError
from conformance.inventory.overloads import Catalogue, Meaning, Overloads, Registration
from conformance.inventory.statuses import RAN, Counts, Evidence, Status, status_of
from conformance.journal import Reach
from conformance.outcomes import Outcome
from conformance.record import RunFolder

Group: TypeAlias = tuple[tuple[str, ...], Outcome]
"""Names of Reach records that a test's attempts took, and what the test ended as."""


class Reaching(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the tests of a run took. `told` and `untold` count the tests that ran, by whether a record tells their ops,
    `waiting` those that have not run; `foreign` counts tests by names that no overload has.
    """

    told: int
    untold: int
    waiting: int = 0
    evidence: dict[str, Evidence] = {}
    foreign: dict[str, int] = {}


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """Every overload, who serves it, and what a run says of it. Without a run there is no `reaching`."""

    overloads: Overloads
    reaching: Reaching | None = None
    registrations: Mapping[str, Registration] = field(init=False)
    statuses: Mapping[str, Status] = field(init=False)

    def __post_init__(self) -> None:
        found = self.overloads.registrations()
        object.__setattr__(self, "registrations", found)
        object.__setattr__(self, "statuses", {name: self._status(name) for name in found})

    def _status(self, name: str) -> Status:
        return status_of(self.evidence(name), told=self.tells)

    @property
    def tells(self) -> bool:
        """Whether the run records which ops its tests took; so does one in which no test ran."""
        return self.reaching is not None and bool(self.reaching.told or not self.reaching.untold)

    def evidence(self, name: str) -> Evidence:
        """The tests that say something of an overload."""
        return _NOTHING if self.reaching is None else self.reaching.evidence.get(name, _NOTHING)

    def totals(self) -> dict[Registration, Counter[Status]]:
        """How many overloads have each status, by registration; all of them together are `overloads.number`."""
        found: dict[Registration, Counter[Status]] = {each: Counter() for each in Registration}
        for name, registration in self.registrations.items():
            found[registration][self.statuses[name]] += 1
        return found


_NOTHING = Evidence()


def tally(
    overloads: Overloads,
    sets: Mapping[str, Reach],
    groups: Mapping[Group, int],
    named: Mapping[tuple[str, Outcome], int],
) -> Reaching:
    """Count tests by overload. `groups` counts all planned tests; `named` those with an op, by that op and outcome."""
    counting = _Counting(Catalogue(overloads), sets)
    for (names, outcome), number in groups.items():
        counting.take(names, outcome, number)
    for (op, outcome), number in named.items():
        for full in counting.catalogue.overloads_of(overloads.named.get(op, ())):
            counting.add(full, "named", outcome, number)
    ran = {names_known: _number(groups, RAN, names_known) for names_known in (True, False)}
    return Reaching(
        told=ran[True], untold=ran[False], waiting=_number(groups, {Outcome.NOT_RUN}, False),
        evidence=counting.evidence, foreign=dict(counting.foreign),
    )  # fmt: skip


def _number(groups: Mapping[Group, int], outcomes: Set[Outcome], names_known: bool) -> int:
    """Tests that ended so, with or without a record of what they took."""
    return sum(
        number for (names, outcome), number in groups.items() if outcome in outcomes and bool(names) is names_known
    )


class _Counting:
    """Evidence while it grows."""

    def __init__(self, catalogue: Catalogue, sets: Mapping[str, Reach]) -> None:
        self.catalogue, self._sets = catalogue, sets
        self._meanings: dict[str, Meaning] = {}
        self.evidence: dict[str, Evidence] = {}
        self.foreign: Counter[str] = Counter()

    def take(self, names: Iterable[str], outcome: Outcome, number: int) -> None:
        """Count tests that took the union of some sets."""
        taken = [self._sets[name] for name in names if name in self._sets]
        ran, ran_perhaps = self._meant(name for each in taken for name in each.ran)
        fell, fell_perhaps = self._meant(name for each in taken for name in each.fell)
        for kind, overloads in (("both", ran & fell), ("ran", ran - fell), ("fell", fell - ran)):
            for full in overloads:
                self.add(full, kind, outcome, number)
        for full in (ran_perhaps | fell_perhaps) - ran - fell:
            self.add(full, "perhaps", outcome, number)
        for name in {name for each in taken for name in (*each.ran, *each.fell)}:
            if self._meaning(name) == Meaning():
                self.foreign[name] += number

    def _meant(self, names: Iterable[str]) -> tuple[set[str], set[str]]:
        meanings = [self._meaning(name) for name in names]
        return {each.full for each in meanings if each.full}, {full for each in meanings for full in each.one_of}

    def _meaning(self, name: str) -> Meaning:
        if name not in self._meanings:
            self._meanings[name] = self.catalogue.meaning(name)
        return self._meanings[name]

    def add(self, full: str, kind: str, outcome: Outcome, number: int) -> None:
        """Count tests for one overload."""
        found = self.evidence.setdefault(full, Evidence(ran={}, fell={}, both={}, perhaps={}, named={}))
        counts: Counts = getattr(found, kind)
        counts[outcome] = counts.get(outcome, 0) + number


def read(path: Path) -> Overloads | None:
    """What the device said before a run; None where nothing asked it. Raises UsageError when the file is damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Overloads)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error}): run the tests again") from error


def of_folder(folder: RunFolder) -> Inventory | None:
    """The inventory of a run from its folder, without torch; None when nothing was asked before the run."""
    overloads = read(folder.overloads)
    if overloads is None:
        return None
    attempts = record.read_attempts(folder)
    if not folder.read_header().supervised:
        record.close_open(attempts)
    groups: Counter[Group] = Counter()
    named: Counter[tuple[str, Outcome]] = Counter()
    for test in plan.read(folder.plan):
        outcome = record.result_of(test, attempts).outcome
        made = attempts.ended.get(test.key, {})
        groups[tuple(made[number].u for number in sorted(made) if made[number].u), outcome] += 1
        named[test.id.op, outcome] += 1
    return Inventory(overloads=overloads, reaching=tally(overloads, attempts.reach, groups, named))
