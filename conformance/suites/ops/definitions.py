"""What a test is, as a hash: the case's code, the OpInfo's sample generators and the dtype.

Equal across processes, directories and machines: no address, no path and no line number takes part.
"""

import functools
import hashlib
import inspect
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from conformance.suites.ops.kinds import Kind

_SHARED: Final = ("samples", "moving", "compare", "statistics", "trial")
"""Modules that decide what every kind asks."""

_DEPTH: Final = 4
"""How far functions within functions (partials, closures) are followed."""


def definition(kind: Kind, op: Any, dtype: str) -> str:
    """The hash of the test of that kind, op and dtype."""
    return combine(case_source(kind.case), of_op(op), dtype)


def combine(*parts: str) -> str:
    """One hash over several texts, 16 hexadecimal digits: only definitions of the same test are ever compared."""
    whole = hashlib.blake2b(digest_size=8)
    for part in parts:
        whole.update(part.encode("utf-8", "backslashreplace") + b"\0")
    return whole.hexdigest()


@cache
def case_source(case: str) -> str:
    """The hash of the code that asks: the case's module and the shared ones, comments left out."""
    package = __name__.rpartition(".")[0]
    modules = [case.partition(":")[0], *(f"{package}.{each}" for each in _SHARED)]
    return combine(case, *map(_code_lines, modules))


def _code_lines(module: str) -> str:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    lines = (line.strip() for line in Path(spec.origin).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))


_OPS: dict[int, str] = {}


def of_op(op: Any) -> str:
    """The hash of what an OpInfo asks: the op, its variants and the functions that make its inputs."""
    if id(op) not in _OPS:
        functions = (op.op, op.inplace_variant, op.sample_inputs_func, op.error_inputs_func)
        _OPS[id(op)] = combine(op.full_name, *map(_describe, functions))
    return _OPS[id(op)]


def _describe(value: Any, depth: int = _DEPTH) -> str:
    """A stable text for a function or a plain value: source where it is Python of PyTorch's tests, else its name."""
    value = inspect.unwrap(value) if callable(value) else value
    if isinstance(value, functools.partial):
        bound = [_describe(value.func, depth - 1), *(_describe(each, depth - 1) for each in value.args)]
        return f"partial({bound}, {sorted((key, _describe(each, depth - 1)) for key, each in value.keywords.items())})"
    if inspect.isfunction(value):
        return _describe_function(value, depth)
    if isinstance(value, list | tuple | set | frozenset | dict):
        items = value.items() if isinstance(value, dict) else value
        return f"{type(value).__name__}{sorted(_describe(each, depth - 1) for each in items) if depth else ''}"
    if isinstance(value, str | int | float | complex | bool | None):
        return repr(value)
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"


def _describe_function(function: Any, depth: int) -> str:
    name = f"{function.__module__}.{function.__qualname__}"
    if "torch.testing" not in function.__module__ or not depth:
        # Operators of PyTorch itself are what is tested and not the test.
        return name
    cells = [_cell(each) for each in function.__closure__ or ()]
    inner = sorted(_describe(each, depth - 1) for each in cells)
    return f"{name}: {_source(function)}{inner}"


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _source(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""
