"""The rows of a comparison: single tests with both sides, and groups of tests that changed for one reason."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from conformance import diff
from conformance.diff import Group
from conformance.outcomes import Outcome, TestId, outcome_of
from conformance.pairs import PairClass
from conformance.store.catalogue import numbered_tests
from conformance.store.compare import Comparison
from conformance.store.results import PAGE, ops_of, phrases_at
from conformance.store.store import Store, phrase_bodies

_SHOWN: Final = ("cause", "rule", "message", "fallback")


@dataclass(frozen=True, kw_only=True, slots=True)
class SideOf:
    """One side of a row; the outcome is None where this run did not plan the test."""

    outcome: Outcome | None
    flaky: bool
    rule: str
    cause: str
    message: str
    fallback_ops: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffRow:
    """One test in both runs. `renamed_from` is its key in run a when that was another."""

    number: int
    id: TestId
    pair: PairClass
    a: SideOf
    b: SideOf
    renamed_from: str

    @property
    def key(self) -> str:
        """The identity as one string."""
        return self.id.key


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffPage:
    """Some rows of a comparison by number; `after` is where the next page starts, None at the end."""

    rows: Sequence[DiffRow]
    total: int
    after: int | None


def diff_rows(
    store: Store,
    compared: Comparison,
    pairs: Sequence[PairClass],
    *,
    reason: int | None = None,
    after: int = -1,
    limit: int = 100,
) -> DiffPage:
    """The tests of some classes, page by page; `reason` restricts to one group (a number of `Comparison.reasons`)."""
    wanted = np.isin(compared.classes, [int(each) for each in pairs])
    if reason is not None:
        wanted &= compared.reasons == reason
    found = np.flatnonzero(wanted)
    page = found[np.searchsorted(found, after, side="right") :][: limit + 1].tolist()
    made = _rows(store, compared, page[:limit])
    return DiffPage(rows=made, total=len(found), after=page[limit - 1] if len(page) > limit else None)


def every_change(store: Store, compared: Comparison, pairs: Sequence[PairClass]) -> Iterator[DiffRow]:
    """All tests of some classes, by number, some thousands at a time in memory."""
    after: int | None = -1
    while after is not None:
        page = diff_rows(store, compared, pairs, after=after, limit=PAGE)
        yield from page.rows
        after = page.after


def _rows(store: Store, compared: Comparison, numbers: Sequence[int]) -> list[DiffRow]:
    before = {each: compared.renamed.get(each, each) for each in numbers}
    tests = numbered_tests(store, {*numbers, *before.values()})
    left = _sides(store, compared, 0, before)
    right = _sides(store, compared, 1, {each: each for each in numbers})
    return [
        DiffRow(
            number=each, id=tests[each].id, pair=PairClass(int(compared.classes[each])), a=left[place], b=right[place],
            renamed_from=tests[before[each]].key if before[each] != each else "",
        )
        for place, each in enumerate(numbers)
    ]  # fmt: skip


def _sides(store: Store, compared: Comparison, place: int, numbers: Mapping[int, int]) -> list[SideOf]:
    """One side of some tests: numbers as compared, to the numbers that they have in the stored vectors."""
    status, picked = compared.sides[place].status, compared.picked[place]
    said = dict[int, Mapping[str, str]]()
    for which, run in enumerate(compared.runs[place]):
        mine = [each for each in numbers if picked[each] == which]
        if mine:
            texts = phrases_at(store, run, [numbers[each] for each in mine], _SHOWN)
            said |= dict(zip(mine, texts, strict=True))
    return [_side_of(int(status[each]), said.get(each, {})) for each in numbers]


def _side_of(status: int, said: Mapping[str, str]) -> SideOf:
    outcome, flaky = outcome_of(status)
    return SideOf(
        outcome=outcome, flaky=flaky, rule=said.get("rule", ""), cause=said.get("cause", ""),
        message=said.get("message", ""), fallback_ops=ops_of(said.get("fallback", "")),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedGroup:
    """A group with its reason and the key of its first test as texts."""

    group: Group
    reason: str
    example: str


def named_groups(store: Store, compared: Comparison) -> list[NamedGroup]:
    """The groups of a comparison: "3 causes, 1,842 tests"."""
    found = diff.groups(compared.classes, compared.reasons)
    bodies = phrase_bodies(store, [each.phrase for each in found])
    tests = numbered_tests(store, [each.example for each in found])
    # A set of ops is stored as lines; no other phrase that groups tests has any.
    reasons = {phrase: ", ".join(body.split("\n")) for phrase, body in bodies.items()}
    return [NamedGroup(group=each, reason=reasons[each.phrase], example=tests[each.example].key) for each in found]
