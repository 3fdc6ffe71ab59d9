"""Which code raised a skip: the frame below unittest's and pytest's own, and whose file it is in."""

import unittest
from pathlib import PurePosixPath
from types import CodeType, TracebackType

from conformance.provenance.rules import Origin, Skip

_MESSENGERS = ("/unittest/case.py", "/_pytest/", "/pluggy/", "/contextlib.py")
_HARNESS = "/torch/testing/_internal/"
_BACKEND = ("/torch_neuronx/", "/conformance/simulator/", "/conformance/pytest_hooks/")


def skip_of(error: BaseException, tree: str) -> Skip:
    """What is known of a raised skip. `tree` is the folder of the test's file, with forward slashes."""
    code = _raising_code(error.__traceback__)
    return Skip(
        origin=_without_code(error) if code is None else origin_of(code.co_filename, tree),
        reason=reason_of(error), function="" if code is None else code.co_qualname, turned=_turned(error),
    )  # fmt: skip


def _without_code(error: BaseException) -> Origin:
    """Nobody's code but unittest's: the test handed it its own skipTest, as a cleanup."""
    trace = error.__traceback__
    return Origin.BODY if trace is not None and "/unittest/case.py" in _file(trace) else Origin.ELSEWHERE


def _file(trace: TracebackType) -> str:
    return trace.tb_frame.f_code.co_filename.replace("\\", "/")


def reason_of(error: BaseException) -> str:
    """The text that a skip was given."""
    return str(getattr(error, "msg", None) or error)


def origin_of(file: str, tree: str) -> Origin:
    """Whose code a file is."""
    path = file.replace("\\", "/")
    if any(part in path for part in _BACKEND):
        return Origin.BACKEND
    if _HARNESS in path:
        return Origin.GATE
    if "/_pytest/skipping.py" in path:
        return Origin.MARKER
    return Origin.BODY if PurePosixPath(path).is_relative_to(tree) else Origin.ELSEWHERE


def _raising_code(trace: TracebackType | None) -> CodeType | None:
    """The innermost code that is not unittest's or pytest's way to raise a skip; pytest's marker check counts."""
    found: CodeType | None = None
    while trace is not None:
        code = trace.tb_frame.f_code
        file = code.co_filename.replace("\\", "/")
        if "/_pytest/skipping.py" in file or not any(part in file for part in _MESSENGERS):
            found = code
        trace = trace.tb_next
    return found


def _turned(error: BaseException) -> str:
    """The type of the exception that was being handled when the skip was raised."""
    inner = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if inner is None or isinstance(inner, unittest.SkipTest | StopIteration | GeneratorExit):
        return ""
    return type(inner).__name__
