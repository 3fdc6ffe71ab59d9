"""Collects a file whole and restricted to some of its tests, in one process; writes counts. Arguments: file, out."""

import json
import sys
from pathlib import Path

import pytest

from conformance import expectations, targets
from conformance.plan import PlannedTest
from conformance.pytest_hooks import activation, collecting
from conformance.pytest_hooks.planning import Planner
from conformance.pytest_hooks.restrict import Wanted, restricted
from conformance.pytest_hooks.running import file_alone
from tests.plugin.sessions import RELEASE


class Listing:
    """Plans what pytest collects."""

    def __init__(self) -> None:
        self.planned: list[PlannedTest] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        planner = Planner(coverage=expectations.load("sim", RELEASE), device="neuron")
        self.planned = planner.plan(session.items)


def collected(file: str) -> dict[str, PlannedTest]:
    found = Listing()
    with file_alone(Path(file)):
        pytest.main([*collecting.OPTIONS, "-qq", "--collect-only", file], plugins=[found])
    return {each.key: each for each in found.planned}


file, out = sys.argv[1:]
activation.for_device_tests(targets.get("sim").activate(RELEASE).device)
whole = collected(file)
answers = []
for chosen in ([*whole][::7], [each for each in whole if "test_out_abs" in each], [*whole]):
    with restricted(Wanted.of((whole[each].id for each in chosen), "neuron")):
        made = collected(file)
    same = all(made.get(each) == whole[each] for each in chosen)
    answers.append((len(chosen), len(made), same, made.keys() <= whole.keys()))
Path(out).write_text(json.dumps([len(whole), answers, collected(file) == whole]))
