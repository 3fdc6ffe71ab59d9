"""One adapter reads torch_neuronx's trackers, whatever shape their answers have."""

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.outcomes import Reached
from conformance.targets import Compiled
from conformance.targets.tracked import TrackedDevice, compiled_graph, qualified


def device(**functions: Any) -> TrackedDevice:
    return TrackedDevice(backend=SimpleNamespace(**functions), facts=dict)


@pytest.mark.parametrize("name", ["add", "aten::add", "aten::add.Tensor", "aten.add.Tensor", "aten.add"])
def test_op_names_are_compared_without_their_overload(name: str) -> None:
    assert qualified(name) == "aten::add"


def test_names_of_other_namespaces_are_kept() -> None:
    assert qualified("prims::sin") == "prims::sin"
    assert qualified("aten::add_") == "aten::add_"


def test_trackers_are_read_as_sets() -> None:
    read = device(get_executed_ops=lambda: ["aten::add", "add"], get_fallback_ops=lambda: {"aten::sin.out"})
    assert read.executed_ops() == {"aten::add"}
    assert read.fallback_ops() == {"aten::sin"}
    assert read.reached() == Reached(executed=frozenset({"aten::add", "add"}), fallback=frozenset({"aten::sin.out"}))


FULL = {"graph_name": "g", "num_nodes": 3, "lowering_time": 0.25, "compile_time": 1.5}


@pytest.mark.parametrize("record", [FULL, SimpleNamespace(**FULL)])
def test_a_metrics_record_is_a_mapping_or_an_object(record: Any) -> None:
    assert compiled_graph(record) == Compiled(graph="g", nodes=3, compile_seconds=1.75, warm=False)


@pytest.mark.parametrize("metrics", [[FULL], {"g": {key: FULL[key] for key in FULL if key != "graph_name"}}])
def test_metrics_are_a_list_or_a_mapping_by_graph_name(metrics: Any) -> None:
    assert device(get_dynamo_metrics=lambda: metrics).compiled() == (
        Compiled(graph="g", nodes=3, compile_seconds=1.75, warm=False),
    )


def test_a_record_without_its_parts_counts_as_nothing_compiled() -> None:
    assert compiled_graph({}).nodes == 0
    assert device(get_dynamo_metrics=lambda: None).compiled() == ()


def test_a_device_that_raises_is_said_to_be_sick_in_one_line() -> None:
    def late() -> None:
        raise RuntimeError("nrt_execute failed: NRT_STATUS=101\nand a stack")

    sick = TrackedDevice(backend=SimpleNamespace(synchronize=late), facts=dict, device="cpu")
    assert sick.probe() == "a small sum on cpu failed: RuntimeError: nrt_execute failed: NRT_STATUS=101"
