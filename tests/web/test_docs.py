"""docs/dashboard.md names every address, every parameter and every field of JSON."""

import dataclasses
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from fastapi.routing import APIRoute

from web import assets, health, shapes
from web.pages import architectures, changes, diffs, matrix, models, ops, runs, tests, trends

TEXT = (Path(__file__).parents[2] / "docs" / "dashboard.md").read_text()
ROUTES = [
    route
    for module in (health, assets, tests, diffs, matrix, ops, models, architectures, trends, runs)
    for route in module.router.routes
    if isinstance(route, APIRoute)
]


def named(word: str) -> bool:
    return f"`{word}`" in TEXT


def test_every_address_is_documented() -> None:
    paths = {route.path.removesuffix(".json").replace(":path", "") for route in ROUTES} - {"/static/{digest}/{name}"}
    assert len(paths) > 8
    assert not [each for each in paths if not named(each)]


def test_every_page_has_its_twin() -> None:
    paths = {route.path for route in ROUTES} - {"/healthz", "/readyz", "/test", "/static/{digest}/{name}"}
    twins = {each for each in paths if each.endswith(".json")}
    assert {each.removesuffix(".json") for each in twins} == paths - twins


def test_every_parameter_is_documented() -> None:
    found = {each.alias for route in ROUTES for each in route.dependant.query_params}
    found |= {each.alias for route in ROUTES for inner in route.dependant.dependencies for each in inner.query_params}
    assert {"a", "class", "cause", "kind"} <= found
    assert not [each for each in found if not named(each)]


def fields_of(module: ModuleType) -> set[str]:
    classes: list[Any] = [
        each for each in vars(module).values() if dataclasses.is_dataclass(each) and each.__module__ == module.__name__
    ]
    return {field.name for each in classes for field in dataclasses.fields(each)}


def test_every_field_of_an_answer_is_documented() -> None:
    inner = {"columns", "counts", "cells", "rows", "pair"}
    found = {
        name
        for module in (shapes, changes, diffs, matrix, models, architectures, ops, runs, tests, trends)
        for name in fields_of(module)
    } - inner
    assert len(found) > 60
    assert not [each for each in found if not re.search(rf"`{each}`", TEXT)]
