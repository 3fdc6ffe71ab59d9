"""An inventory as JSON documents, the same words wherever it is shown."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conformance.inventory.counting import Inventory
from conformance.inventory.overloads import Registration, base_of
from conformance.inventory.statuses import Counts, Status
from conformance.outcomes import Outcome


def summary_of(found: Inventory) -> dict[str, Any]:
    """Overloads counted; `statuses` and `registrations` each add up to `overloads`."""
    said, taken, totals = found.overloads, found.reaching, found.totals()
    document: dict[str, Any] = {
        "torch": said.torch, "device": said.device, "dispatch_key": said.key, "overloads": said.number,
        "left_out": dict(said.left_out), "trackers_tell": said.tells.value,
        "registrations": {each.value: totals[each].total() for each in Registration},
    }  # fmt: skip
    if taken is None:
        return document
    return document | {
        "tests_told": taken.told, "tests_untold": taken.untold, "tests_not_run": taken.waiting,
        "foreign_names": dict(taken.foreign),
        "statuses": {each.value: sum(row[each] for row in totals.values()) for each in Status},
        "by_registration": {
            word.value: {each.value: row[each] for each in Status if row[each]} for word, row in totals.items()
        },
    }  # fmt: skip


def overload_of(found: Inventory, name: str) -> dict[str, Any]:
    """One overload. `by_fallback` counts those of its tests in which it ran on the CPU."""
    document: dict[str, Any] = {"overload": name, "registration": found.registrations[name].value}
    if found.reaching is None:
        return document
    evidence = found.evidence(name)
    reached, fell = evidence.reached, evidence.by_fallback
    return document | {
        "status": found.statuses[name].value, "tests": reached.total(), "outcomes": words(reached),
        "by_fallback": fell.total(), "fallback_outcomes": words(fell), "perhaps": words(evidence.perhaps),
        "named_by": words(evidence.named),
    }  # fmt: skip


def words(counts: Counts | Counter[Outcome]) -> dict[str, int]:
    """Counts by the outcome's word, in the order of the codes."""
    return {each.word: counts[each] for each in Outcome if counts.get(each)}


def chosen(
    found: Inventory, statuses: Iterable[Status] = (), registrations: Iterable[Registration] = (), op: str = ""
) -> Iterator[str]:
    """Names of overloads with one of some words (none: any) and of an op as `add`, `add_` or `aten::add`."""
    by_status, by_registration = frozenset(statuses), frozenset(registrations)
    wanted = op if not op or "::" in op else f"aten::{op}"
    for name, registration in found.registrations.items():
        fits = not by_status or found.statuses[name] in by_status
        served = not by_registration or registration in by_registration
        if fits and served and (not op or wanted in (base_of(name), base_of(name).removesuffix("_"), name)):
            yield name


def moved(a: Inventory, b: Inventory) -> Mapping[str, tuple[str, str]]:
    """Overloads whose status is another in b than in a, with both; `absent` where a torch does not have one."""
    names = sorted(a.statuses.keys() | b.statuses.keys())
    pairs = {name: (_word(a, name), _word(b, name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


ABSENT = "absent"


def _word(found: Inventory, name: str) -> str:
    return found.statuses[name].value if name in found.statuses else ABSENT
