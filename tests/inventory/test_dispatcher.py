"""The dispatcher asked with the simulated device active: every overload once, in agreement with the table."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from conformance import targets
from conformance.inventory import Overloads, Registration, Tells, dispatcher
from conformance.inventory.overloads import base_of
from conformance.simulator import surface, table
from conformance.targets.tracked import TrackedDevice
from tests.simulator.conftest import Start
from tests.simulator.conftest import start as start

TABLE = """
[[entry]]
ops = ["sin", "cos"]
mode = "fallback"
reason = "r"
[[entry]]
ops = ["tan"]
dtypes = ["float32"]
mode = "refused"
reason = "r"
[[entry]]
ops = ["tan"]
mode = "fallback"
reason = "r"
[[entry]]
ops = ["exp"]
dtypes = ["float32"]
mode = "fallback"
reason = "r"
[[entry]]
ops = ["erf"]
mode = "refused"
reason = "r"
"""


@pytest.fixture
def asked(start: Start) -> Overloads:
    return dispatcher.survey(start(TABLE), ["add", "linalg.inv", "nn.functional.relu", "masked.amax", "no.such.op", ""])


def test_every_aten_overload_has_one_registration_and_the_rest_is_counted(asked: Overloads) -> None:
    every = torch._C._dispatch_get_all_op_names()
    aten = sorted(name for name in every if name.startswith("aten::"))
    assert list(asked.registrations()) == aten
    assert asked.number == len(aten) > 3_000
    assert sum(asked.left_out.values()) == len(every) - len(aten)
    assert asked.left_out["prims"] > 100
    assert (asked.device, asked.key, asked.tells) == ("neuron", "PrivateUse1", Tells.OVERLOADS)


def test_who_takes_a_call(asked: Overloads) -> None:
    expected = {
        "aten::add.Tensor": Registration.KERNEL,
        "aten::linalg_inv": Registration.COMPOSITE_IMPLICIT,
        "aten::add.Scalar": Registration.COMPOSITE_EXPLICIT,
        "aten::cudnn_convolution": Registration.NONE,
        "aten::sin": Registration.FALLBACK,
        "aten::cos_": Registration.FALLBACK,
        "aten::sin.out": Registration.FALLBACK,
        "aten::tan": Registration.KERNEL,
        "aten::exp": Registration.KERNEL,
        "aten::erf.out": Registration.NONE,
    }
    found = asked.registrations()
    assert {name: found[name] for name in expected} == expected


def test_the_ops_that_tests_name_are_found_in_aten(asked: Overloads) -> None:
    assert asked.named == {
        "add": ("aten::add", "aten::add_"),
        "linalg.inv": ("aten::linalg_inv",),
        "nn.functional.relu": ("aten::relu", "aten::relu_"),
    }


@pytest.mark.parametrize("release", table.releases())
def test_no_op_that_a_release_leaves_to_the_cpu_or_refuses_counts_as_having_a_kernel(release: str) -> None:
    device = targets.get("sim").activate(release)
    found = dispatcher.survey(device, ())
    modes = table.load(release).wholly()
    left = {op for op, mode in modes.items() if mode in (table.Mode.FALLBACK, table.Mode.REFUSED)}
    with_kernel = {base_of(each).removeprefix("aten::") for each in found.served[Registration.KERNEL]}
    assert left
    assert not with_kernel & (left | {f"{each}_" for each in left})
    assert modes["fill"] is table.Mode.NATIVE
    assert "fill_" in with_kernel


def test_the_simulated_trackers_tell_the_overloads_apart(start: Start) -> None:
    device = start()
    x = torch.tensor([1, 2, 3]).to("neuron")
    device.clear()
    (x + x).add_(x)
    torch.add(x, x, out=torch.empty_like(x))
    assert device.reached().executed == {"aten::add.Tensor", "aten::add_.Tensor", "aten::add.out"}


def cut(names: Any) -> list[str]:
    return [base_of(name) for name in names]


def test_trackers_that_name_ops_without_overload_are_recognised(start: Start) -> None:
    backend = SimpleNamespace(
        clear_op_tracking=surface.clear_op_tracking, synchronize=surface.synchronize,
        get_executed_ops=lambda: cut(surface.get_executed_ops()),
        get_fallback_ops=lambda: cut(surface.get_fallback_ops()),
    )  # fmt: skip
    device = replace(start(), backend=backend)
    assert isinstance(device, TrackedDevice)
    assert dispatcher.survey(device, ()).tells is Tells.NAMES


def test_a_device_without_names_of_ops_tells_nothing() -> None:
    asked = dispatcher.survey(targets.get("cpu").activate("installed"), ())
    assert (asked.key, asked.tells) == ("CPU", Tells.NOTHING)
    assert asked.registrations()["aten::add.Tensor"] is Registration.KERNEL


@pytest.mark.parametrize(
    ("name", "has"),
    [("aten::add.Tensor", True), ("aten.add.Tensor", True), ("add.Tensor", True), ("aten.add", False), ("add", False)],
)
def test_an_overload_is_what_follows_the_ops_own_name(name: str, has: bool) -> None:
    assert dispatcher._has_overload(name) is has
