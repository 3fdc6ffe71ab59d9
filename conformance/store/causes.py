"""The causes of a comparison: tests that changed for one reason, whatever their classes, and the list of each."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from conformance.causes import name_of, signature
from conformance.errors import UsageError
from conformance.outcomes import outcome_of
from conformance.pairs import BLOCKING, PairClass
from conformance.store.catalogue import numbered_tests
from conformance.store.compare import Comparison
from conformance.store.phrases import Kind
from conformance.store.store import Store

_PAGE: Final = 5_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """Tests that changed for one reason. `classes` add up to `tests`; `numbers` are the tests', rising.

    `name` is short and stays the same from run to run; `example` is the key of the first test.
    """

    name: str
    signature: str
    tests: int
    classes: Mapping[PairClass, int]
    numbers: NDArray[np.intp]
    example: str


def blocking_mask(compared: Comparison) -> NDArray[np.bool_]:
    """The tests of a class that blocks by default, shape (tests,)."""
    return np.isin(compared.classes, [int(each) for each in BLOCKING])


def causes(store: Store, compared: Comparison, chosen: NDArray[np.bool_]) -> list[Cause]:
    """The causes of the chosen tests (shape (tests,)), the largest first: "3 causes, 1,842 tests"."""
    grouped = defaultdict[str, list[NDArray[np.intp]]](list)
    numbers = np.flatnonzero(chosen)
    signatures = _signatures(store, compared, numbers)
    for phrase in np.unique(compared.reasons[numbers]).tolist():
        mine = numbers[compared.reasons[numbers] == phrase]
        if phrase:
            grouped[signatures[phrase]].append(mine)
            continue
        words = _without_reason(compared, mine)
        for word in sorted(set(words)):
            grouped[word].append(mine[np.array([each == word for each in words])])
    made = {text: np.sort(np.concatenate(parts)) for text, parts in grouped.items()}
    keys = numbered_tests(store, [int(each[0]) for each in made.values()])
    found = [_cause(text, mine, compared, keys[int(mine[0])].key) for text, mine in made.items()]
    return sorted(found, key=lambda each: (-each.tests, each.signature))


def _cause(text: str, numbers: NDArray[np.intp], compared: Comparison, example: str) -> Cause:
    found, sizes = np.unique(compared.classes[numbers], return_counts=True)
    return Cause(
        name=name_of(text), signature=text, tests=len(numbers), numbers=numbers, example=example,
        classes={PairClass(int(pair)): int(size) for pair, size in zip(found, sizes, strict=True)},
    )  # fmt: skip


def _signatures(store: Store, compared: Comparison, numbers: NDArray[np.intp]) -> dict[int, str]:
    wanted = np.unique(compared.reasons[numbers]).tolist()
    rows = store.rows("SELECT id, kind, body FROM phrase WHERE id = ANY(:wanted)", wanted=wanted)
    return {row["id"]: _told(Kind(row["kind"]), row["body"]) for row in rows}


def _told(kind: Kind, body: str) -> str:
    if kind is Kind.FALLBACK:
        return f"on the CPU: {', '.join(sorted({signature(each) for each in body.splitlines()}))}"
    return body if kind is Kind.RULE else signature(body)


def _without_reason(compared: Comparison, numbers: NDArray[np.intp]) -> list[str]:
    found = (outcome_of(int(each))[0] for each in compared.sides[1].status[numbers])
    return [f"no reason recorded ({outcome.word if outcome else 'not planned'})" for outcome in found]


def cause_named(found: Sequence[Cause], name: str) -> Cause:
    """The cause of a name, or of the beginning of one. Raises UsageError for none, and for several."""
    fitting = [each for each in found if name and each.name.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    some = ", ".join(each.name for each in (fitting or found)[:10]) or "none, nothing has changed"
    raise UsageError(f"{name!r} is {'several causes' if fitting else 'no cause'} of this comparison: there are {some}")


def keys_of(store: Store, numbers: NDArray[np.intp]) -> Iterator[str]:
    """The identities of tests, in the order of their numbers."""
    for start in range(0, len(numbers), _PAGE):
        page = numbers[start : start + _PAGE].tolist()
        tests = numbered_tests(store, page)
        yield from (tests[each].key for each in page)
