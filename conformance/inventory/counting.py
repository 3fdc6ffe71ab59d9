"""From the attempts of a run to the evidence about each overload."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import msgspec

from conformance import plan, record
from conformance.errors import UsageError
from conformance.inventory.overloads import Catalogue, Overloads, Registration
from conformance.inventory.statuses import KINDS, RAN, Counts, Evidence, Status, status_of
from conformance.opsets import Taken
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
    sets: Mapping[str, Taken],
    groups: Mapping[Group, int],
    named: Mapping[tuple[str, Outcome], int],
) -> Reaching:
    """Count tests by overload. `groups` counts all planned tests; `named` those with an op, by that op and outcome."""
    counting = _Counting(Catalogue(overloads))
    told: Counter[bool] = Counter()
    for (names, outcome), number in groups.items():
        known = [sets[name] for name in names if name in sets]
        counting.take(known, int(outcome), number)
        told[bool(known)] += number if outcome in RAN else 0
    for (op, outcome), number in named.items():
        counting.add(counting.catalogue.overloads_of(overloads.named.get(op, ())), "named", int(outcome), number)
    return Reaching(
        told=told[True], untold=told[False], waiting=groups.get(((), Outcome.NOT_RUN), 0),
        evidence=counting.evidence(), foreign=dict(counting.foreign),
    )  # fmt: skip


class _Counting:
    """Evidence while it grows, by kind: numbers of tests by overload and outcome.

    Outcomes are plain integers here, and names are looked up once: ingest counts 154,000 tests this way.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._exact: dict[str, str] = {}
        self._counts: dict[str, dict[tuple[str, int], int]] = {kind: {} for kind in KINDS}
        self.foreign: Counter[str] = Counter()

    def take(self, taken: Sequence[Taken], code: int, number: int) -> None:
        """Count tests that took the union of some sets."""
        perhaps: set[str] = set()
        ran = self._meant(_united([each.ran for each in taken]), perhaps, number)
        fell = self._meant(_united([each.fell for each in taken]), perhaps, number)
        if both := ran & fell:
            self.add(both, "both", code, number)
        self.add(ran - both, "ran", code, number)
        self.add(fell - both, "fell", code, number)
        if perhaps:
            self.add(perhaps - ran - fell, "perhaps", code, number)

    def _meant(self, names: Iterable[str], perhaps: set[str], number: int) -> set[str]:
        """The overloads that names stand for; those that they may stand for are added to `perhaps`."""
        try:
            return {self._exact[name] for name in names}
        except KeyError:
            return self._looked_up(set(names), perhaps, number)

    def _looked_up(self, names: Iterable[str], perhaps: set[str], number: int) -> set[str]:
        found = set()
        for name in names:
            meaning = self.catalogue.meaning(name)
            if meaning.full:
                self._exact[name] = meaning.full
                found.add(meaning.full)
            elif meaning.one_of:
                perhaps.update(meaning.one_of)
            else:
                self.foreign[name] += number
        return found

    def add(self, overloads: Iterable[str], kind: str, code: int, number: int) -> None:
        """Count tests for some overloads."""
        counts = self._counts[kind]
        for full in overloads:
            counts[full, code] = counts.get((full, code), 0) + number

    def evidence(self) -> dict[str, Evidence]:
        """What was counted, by overload."""
        found: dict[str, dict[str, Counts]] = {}
        for kind, counts in self._counts.items():
            for (full, code), number in counts.items():
                found.setdefault(full, {}).setdefault(kind, {})[Outcome(code)] = number
        return {full: Evidence(**kinds) for full, kinds in sorted(found.items())}


def _united(sets: Sequence[tuple[str, ...]]) -> Collection[str]:
    return sets[0] if len(sets) == 1 else {name for each in sets for name in each}


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
