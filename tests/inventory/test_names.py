"""Names as trackers give them: with and without namespace and overload, of ops that torch has and of others."""

import pytest

from conformance.inventory import Overloads, Registration, Tells
from conformance.inventory.overloads import Catalogue, Meaning

SERVED = {
    Registration.KERNEL: ("aten::add.Tensor", "aten::add.out", "aten::sin", "aten::sin.out", "aten::uniform_"),
    Registration.COMPOSITE_EXPLICIT: ("aten::add.Scalar",),
}
ADDS = ("aten::add.Scalar", "aten::add.Tensor", "aten::add.out")


def catalogue(tells: Tells) -> Catalogue:
    return Catalogue(Overloads(torch="2", device="d", key="K", tells=tells, served=SERVED, left_out={"prims": 3}))


@pytest.mark.parametrize(
    "name", ["aten::add.Tensor", "aten.add.Tensor", "add.Tensor", "aten::sin.default", "aten.sin.default"]
)
@pytest.mark.parametrize("tells", [Tells.OVERLOADS, Tells.NAMES])
def test_a_name_with_its_overload_means_that_one(name: str, tells: Tells) -> None:
    full = "aten::sin" if "sin" in name else "aten::add.Tensor"
    assert catalogue(tells).meaning(name) == Meaning(full=full)


@pytest.mark.parametrize("name", ["add", "aten::add", "aten.add"])
@pytest.mark.parametrize("tells", [Tells.OVERLOADS, Tells.NAMES])
def test_a_name_without_overload_means_one_of_several_and_none_for_certain(name: str, tells: Tells) -> None:
    assert catalogue(tells).meaning(name) == Meaning(one_of=ADDS)


@pytest.mark.parametrize("name", ["sin", "aten::sin", "aten.sin"])
def test_a_bare_name_is_the_unnamed_overload_only_where_the_tracker_names_the_others(name: str) -> None:
    assert catalogue(Tells.OVERLOADS).meaning(name) == Meaning(full="aten::sin")
    assert catalogue(Tells.NAMES).meaning(name) == Meaning(one_of=("aten::sin", "aten::sin.out"))


def test_the_only_overload_of_an_op_needs_no_name() -> None:
    assert catalogue(Tells.NAMES).meaning("uniform_") == Meaning(full="aten::uniform_")


@pytest.mark.parametrize("name", ["", ".", "::", "prims.sin", "prims::sin", "neuron::sin", "sinus", "cpu", "\x1b[2J"])
def test_a_name_that_torch_does_not_have_means_nothing(name: str) -> None:
    assert catalogue(Tells.OVERLOADS).meaning(name) == Meaning()


def test_an_overload_that_torch_does_not_have_is_one_of_its_op() -> None:
    assert catalogue(Tells.OVERLOADS).meaning("aten::add.Complex") == Meaning(one_of=ADDS)
