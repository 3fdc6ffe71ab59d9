"""The house style, as far as a machine can tell."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("conformance", "sweeps", "web", "migrations")
SOURCES = [each for package in PACKAGES for each in sorted((ROOT / package).rglob("*.py"))]
TESTS = [each for folder in ("tests", "benchmarks") for each in sorted((ROOT / folder).rglob("*.py"))]
LONGEST_MODULE = 300
LONGEST_FUNCTION = 30
BANNED = {"utils", "util", "helpers", "helper", "base", "manager", "common", "misc"}


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES + TESTS, ids=name)
def test_a_module_can_be_read_at_one_sitting(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGEST_MODULE


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_function_fits_on_a_screen(path: Path) -> None:
    long = {
        each.name: each.end_lineno - each.lineno + 1
        for each in functions(path)
        if each.end_lineno is not None and each.end_lineno - each.lineno + 1 > LONGEST_FUNCTION
    }
    assert not long


@pytest.mark.parametrize("path", SOURCES + TESTS, ids=name)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert not tree.body or ast.get_docstring(tree)


def test_no_module_is_a_place_for_anything() -> None:
    assert not {name(each) for each in SOURCES if each.stem in BANNED}


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_public_functions_and_classes_are_documented(path: Path) -> None:
    tree = ast.parse(path.read_text())
    missing = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert not missing
