"""The survey in a child: written whole, or told of; it never costs a run more than its inventory."""

from pathlib import Path

import pytest

from conformance import inventory, targets
from conformance.pytest_hooks import folder
from conformance.supervision import worker
from conformance.supervision.jobs import Place, Survey
from tests.suites.ops.doubles import Double


def survey(path: Path) -> Survey:
    place = Place(suite="ops", target="cpu", release="installed", variables={}, log="")
    return Survey(place=place, answer="", overloads=str(path / "overloads.json"), ops=("add",))


def test_what_the_device_says_is_written_whole(tmp_path: Path) -> None:
    assert worker._ask_dispatcher(targets.get("cpu").activate("installed"), survey(tmp_path)) == {}
    found = inventory.read(tmp_path / "overloads.json")
    assert found is not None
    assert found.number > 3_000
    assert found.named == {"add": ("aten::add", "aten::add_")}
    assert [each.name for each in tmp_path.iterdir()] == ["overloads.json"]


@pytest.mark.parametrize("by", ["supervisor", "plugin"])
def test_a_torch_that_cannot_be_asked_is_told_of_and_nothing_is_written(tmp_path: Path, by: str) -> None:
    device = Double(device="no device of torch")
    if by == "supervisor":
        told = worker._ask_dispatcher(device, survey(tmp_path))
    else:
        told = folder.survey(device, tmp_path, ())
    assert told["inventory"].startswith("not taken: RuntimeError: ")
    assert "\n" not in told["inventory"]
    assert not list(tmp_path.iterdir())
