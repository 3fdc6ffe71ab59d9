"""Which code raised a skip: the frame below unittest's and pytest's own, and whose file it is in."""

import unittest
from pathlib import PurePosixPath
from types import CodeType, TracebackType

from conformance.provenance.entries import placed
from conformance.provenance.rules import Origin, Skip

_MESSENGERS = ("/unittest/case.py", "/_pytest/", "/pluggy/", "/contextlib.py")
_HARNESS = "/torch/testing/_internal/"
_BACKEND = ("/torch_neuronx/", "/conformance/simulator/", "/conformance/pytest_hooks/")


def skip_of(error: BaseException, tree: str) -> Skip:
    """What is known of a raised skip. `tree` is the folder of the test's file, with forward slashes."""
    raised = _raised(error.__traceback__)
    if raised is None:
        return Skip(origin=_without_code(error), reason=reason_of(error), turned=_turned(error))
    code, line = raised
    return Skip(
        origin=origin_of(code.co_filename, tree), reason=reason_of(error), function=code.co_qualname,
        turned=_turned(error), where=placed(code.co_filename, line),
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


def _raised(trace: TracebackType | None) -> tuple[CodeType, int] | None:
    """The innermost code, and its line, that is not unittest's or pytest's way to raise; its marker check counts."""
    found: tuple[CodeType, int] | None = None
    while trace is not None:
        code = trace.tb_frame.f_code
        file = code.co_filename.replace("\\", "/")
        if "/_pytest/skipping.py" in file or not any(part in file for part in _MESSENGERS):
            found = code, trace.tb_lineno
        trace = trace.tb_next
    return found


def _turned(error: BaseException) -> str:
    """The type of the exception that was being handled when the skip was raised."""
    inner = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if inner is None or isinstance(inner, unittest.SkipTest | StopIteration | GeneratorExit):
        return ""
    return type(inner).__name__
