"""What failed after a test but is not its own: the tear-down of a class, a module, a package or the session.

pytest does it after the last test that needs it, and reports it as that test's. Which one this is depends on what else
runs, so that it decides no outcome.
"""

from collections.abc import Iterable, Iterator

from conformance.outcomes import Stage
from conformance.pytest_hooks.evidence import Seen

LONGEST = 200


def leaves(error: BaseException | None) -> Iterator[BaseException]:
    """The exceptions of a group, of groups within it too; of anything else itself."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from leaves(each)
    elif error is not None:
        yield error


def own(error: BaseException | None) -> BaseException | None:
    """The first exception that is the test's own, else the first one."""
    found = list(leaves(error))
    return next((each for each in found if not _of_wider(each)), found[0] if found else None)


def alone(seen: Seen) -> bool:
    """Whether only what is wider than the test could not be torn down."""
    found = list(leaves(seen.error)) if seen.stage is Stage.TEARDOWN else []
    return bool(found) and all(map(_of_wider, found))


def told(seen: Iterable[Seen]) -> list[str]:
    """What failed so, in words."""
    errors = [
        error for each in seen if each.word == "failed" and each.stage is Stage.TEARDOWN for error in leaves(each.error)
    ]
    return [f"tear_down of the {scope}: {_said(error)}" for error in errors if (scope := _scope(error))]


def _said(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = "(it cannot be shown)"
    return f"{type(error).__name__}: {text}"[:LONGEST]


def _of_wider(error: BaseException) -> bool:
    return bool(_scope(error))


def _scope(error: BaseException) -> str:
    """The scope of the fixture that failed while it was torn down, "" for one of a function or for no fixture."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name == "finish" and code.co_filename.endswith("fixtures.py"):
            scope = str(getattr(trace.tb_frame.f_locals.get("self"), "scope", "function"))
            if scope != "function":
                return scope
        trace = trace.tb_next
    return ""
