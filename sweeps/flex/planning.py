"""The plan of the suite: the 96 cases, nothing executed, and what a child needs to run them."""

import inspect
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from conformance import expectations
from conformance.plan import PlannedTest, Selection
from conformance.suites.ops.definitions import combine
from sweeps.flex import cases
from sweeps.flex.cases import SUITE, Case
from sweeps.flex.comparing import ALLOWED
from sweeps.flex.variants import BUILDERS

CASES: Final = "cases.json"
_ASKING: Final = ("questions.py", "reference.py", "comparing.py", "parts.py")
"""Modules that decide what every case asks."""


def collect(selection: Selection, target: str, release: str, folder: Path) -> Iterator[PlannedTest]:
    """Every planned test of the selection; the cases are written to `folder`.

    A selection of ops has all cases where it names `flex_attention`, those of a variant for `flex_attention.causal`;
    one of test files has none.
    """
    if selection.tests:
        return
    chosen = [msgspec.structs.replace(each, extended=selection.extend_flex_devices) for each in _chosen(selection.ops)]
    folder.mkdir(parents=True, exist_ok=True)
    cases.write(folder / CASES, {each.id.key: each for each in chosen})
    coverage, place, asking = expectations.load(target, release), str(folder / CASES), _asking()
    for each in chosen:
        yield _planned(each, coverage, place, asking)


def _chosen(ops: tuple[str, ...]) -> list[Case]:
    return [each for each in cases.shipped() if not ops or {SUITE, f"{SUITE}.{each.variant}"} & set(ops)]


def _planned(case: Case, coverage: "expectations.Coverage", place: str, asking: str) -> PlannedTest:
    test = case.id
    decided, probed = coverage.decide(test), coverage.probed(test)
    expected = None if decided or probed else coverage.expect(test)
    return PlannedTest(
        id=test, definition=definition(case, asking), decided=decided, expected=expected, probed=probed, where=place
    )


def definition(case: Case, asking: str) -> str:
    """A hash over the case, its functions, the tolerance and the code that asks; another with the list extended."""
    told = msgspec.json.encode(case).decode()
    return combine(told, inspect.getsource(BUILDERS[case.mods]), str(ALLOWED[case.dtype]), asking)


def _asking() -> str:
    found: Mapping[str, str] = {name: (files("sweeps.flex") / name).read_text(encoding="utf-8") for name in _ASKING}
    return combine(*found.values())
