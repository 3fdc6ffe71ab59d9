"""Models held back, counted by the ops that hold them: alone, together, and in the order in which to work them down.

A model that several ops hold back is freed by all of them together and counted for none of them alone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from conformance.outcomes import Outcome
from sweeps.calls.evidence import WRONG, How, Standing


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """How many signatures, how many models share them, and how often these were downloaded."""

    models: int = 0
    signatures: int = 0
    downloads: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(
            models=self.models + other.models, signatures=self.signatures + other.signatures,
            downloads=self.downloads + other.downloads,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class OpRow:
    """An op: what it holds back at all (`together`), what it alone holds back, and how often what shows that.

    `open`: of those together, what may be held back by further ops that nothing tells of. `call` is the digest of a
    call of it that was not right when it was replayed, "" for none.
    """

    op: str
    together: Count
    alone: Count
    open: Count
    hows: Mapping[How, int]
    call: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SetRow:
    """Ops that together are all that holds some models back."""

    ops: tuple[str, ...]
    held: Count


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What to do next: the ops, what becomes free with them and those before, and all that is then free."""

    ops: tuple[str, ...]
    frees: Count
    freed: Count


@dataclass(kw_only=True, slots=True)
class Way:
    """One mode and dtype. `right`, `held`, `unnamed` and `other` add up to `planned`; with the rest, to the catalogue.

    `held` has a named op, `closed` are those of them that have no other reason; `unnamed` went wrong and nothing names
    an op; `other` was skipped, unusable, not run, or right without proof. `outcomes` counts planned models by word.
    """

    mode: str
    dtype: str
    catalogue: int = 0
    not_planned: Count = field(default_factory=Count)
    refused: int = 0
    right: Count = field(default_factory=Count)
    held: Count = field(default_factory=Count)
    closed: Count = field(default_factory=Count)
    unnamed: Count = field(default_factory=Count)
    other: Count = field(default_factory=Count)
    outcomes: Counter[str] = field(default_factory=Counter)
    ops: Sequence[OpRow] = ()
    sets: Sequence[SetRow] = ()
    steps: Sequence[Step] = ()
    standings: Sequence[Standing] = ()

    @property
    def planned(self) -> Count:
        """Everything that the run planned in this way."""
        return self.right + self.held + self.unnamed + self.other

    @property
    def unnamed_standings(self) -> list[Standing]:
        """Signatures without a right answer for which nothing names an op."""
        return [each for each in self.standings if each.outcome in WRONG and not each.ops]


def tally(way: Way, standings: Sequence[Standing], shares: Mapping[str, Count]) -> Way:
    """Count the standings of one mode and dtype. `shares` are the models of each signature."""
    held = []
    for each in standings:
        share = shares.get(each.signature, Count(signatures=1))
        way.outcomes[each.outcome.word] += share.models
        if each.ops:
            held.append((each, share))
            way.held += share
            way.closed += share if each.closed else Count()
        elif each.outcome is Outcome.PASS:
            way.right += share
        elif each.outcome in WRONG:
            way.unnamed += share
        else:
            way.other += share
    way.standings, way.ops, way.sets = standings, _by_op(held), _by_set(held)
    way.steps = steps(way.sets)
    return way


def _by_op(held: Iterable[tuple[Standing, Count]]) -> list[OpRow]:
    together: dict[str, Count] = {}
    alone: dict[str, Count] = {}
    unsure: dict[str, Count] = {}
    calls: dict[str, str] = {}
    hows: dict[str, Counter[How]] = {}
    for each, share in held:
        calls.update((op, digest) for digest, op in each.calls.items())
        for op, told in each.ops.items():
            together[op] = together.get(op, Count()) + share
            hows.setdefault(op, Counter()).update(told)
            if not each.closed:
                unsure[op] = unsure.get(op, Count()) + share
            elif len(each.ops) == 1:
                alone[op] = alone.get(op, Count()) + share
    nothing = Count()
    rows = [
        OpRow(
            op=op, together=each, alone=alone.get(op, nothing), open=unsure.get(op, nothing), hows=hows[op],
            call=calls.get(op, ""),
        )
        for op, each in together.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (*_weight(row.together), row.op))


def _weight(count: Count) -> tuple[int, int]:
    """Most downloads first, then most models."""
    return (-count.downloads, -count.models)


def _by_set(held: Iterable[tuple[Standing, Count]]) -> list[SetRow]:
    found: dict[tuple[str, ...], Count] = {}
    for each, share in held:
        if each.closed:
            ops = tuple(sorted(each.ops))
            found[ops] = found.get(ops, Count()) + share
    rows = [SetRow(ops=ops, held=each) for ops, each in found.items()]
    return sorted(rows, key=lambda row: (*_weight(row.held), row.ops))


def steps(sets: Sequence[SetRow]) -> list[Step]:
    """Which ops to do in which order: each time the set that frees most downloads, then models, for each of its ops.

    Greedy: of what is left, the best next step, not the best of all plans.
    """
    left, done, freed, found = list(sets), frozenset[str](), Count(), list[Step]()
    while left:
        ops = min((frozenset(each.ops) - done for each in left), key=lambda each: _order(each, done, left))
        done |= ops
        frees = _freed(left, done)
        freed += frees
        found.append(Step(ops=tuple(sorted(ops)), frees=frees, freed=freed))
        left = [each for each in left if not done.issuperset(each.ops)]
    return found


def _order(ops: frozenset[str], done: frozenset[str], left: Sequence[SetRow]) -> tuple[float, float, list[str]]:
    frees, size = _freed(left, done | ops), len(ops)
    return (-frees.downloads / size, -frees.models / size, sorted(ops))


def _freed(left: Sequence[SetRow], done: frozenset[str]) -> Count:
    whole = Count()
    for each in left:
        if done.issuperset(each.ops):
            whole += each.held
    return whole
