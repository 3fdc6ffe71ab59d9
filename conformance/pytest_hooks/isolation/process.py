"""What a test may leave changed in the Python process around it."""

import contextlib
import gc
import logging
import os
import random
import signal
import sys
import threading
from _signal import getsignal  # type: ignore[import-not-found]
from collections.abc import Callable, Mapping
from typing import Any, Final

from conformance.pytest_hooks.isolation.facets import Facet

UNREPORTED: Final = (b"PYTEST_CURRENT_TEST", b"TORCHINDUCTOR_CACHE_DIR", b"TRITON_CACHE_DIR")
"""Variables that pytest and inductor set by themselves."""
_handler_of: Callable[[int], Any] = getsignal
"""The C function: that of `signal` makes an enumeration's member of each answer."""
SIGNALS: Final = (
    signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE, signal.SIGALRM, signal.SIGTERM,
    signal.SIGCHLD,
)  # fmt: skip


def facets() -> tuple[Facet, ...]:
    """The pieces, in the order in which they are put back."""
    return (
        Facet(name="environment", read=_variables, put_back=_put_variables, tell=_tell_variables),
        Facet(name="working_directory", read=_folder, put_back=os.chdir, tell=lambda _, __: "another"),
        Facet(name="sys.path", read=lambda: tuple(sys.path), put_back=_put_path, tell=lambda _, __: "other entries"),
        Facet(name="recursion_limit", read=sys.getrecursionlimit, put_back=sys.setrecursionlimit),
        Facet(name="garbage_collector", read=_collector, put_back=_put_collector),
        Facet(name="signal_handlers", read=_handlers, put_back=_put_handlers, tell=_tell_handlers),
        Facet(name="alarm", read=_alarm, put_back=_stop_alarm, tell=_tell_alarm),
        Facet(name="streams", read=_streams, put_back=_put_streams, tell=lambda _, __: "replaced"),
        Facet(name="hooks", read=_hooks, put_back=_put_hooks, tell=lambda _, __: "replaced"),
        Facet(name="logging", read=_logging, put_back=_put_logging),
        _levels(),
        Facet(name="threads", read=threading.active_count, put_back=lambda _: None, tell=_tell_threads),
    )


def _variables() -> Mapping[bytes, bytes]:
    # The mapping below os.environ: decoding every variable twice a test would cost more than all else here.
    whole: dict[bytes, bytes] = os.environ._data.copy()  # type: ignore[attr-defined]
    for each in UNREPORTED:
        whole.pop(each, None)
    return whole


def _changed(before: Mapping[bytes, bytes], after: Mapping[bytes, bytes]) -> list[bytes]:
    return sorted(each for each in {*before, *after} if before.get(each) != after.get(each))


def _put_variables(before: Mapping[bytes, bytes]) -> None:
    for each in _changed(before, _variables()):
        if each in before:
            os.environb[each] = before[each]
        else:
            del os.environb[each]


def _tell_variables(before: Mapping[bytes, bytes], after: Mapping[bytes, bytes]) -> str:
    """Names alone: a value may be a secret."""
    return ", ".join(ascii(each.decode("utf-8", "replace"))[1:-1] for each in _changed(before, after))


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - a path object twice a test is ten times the price
    except OSError:
        return ""


def _put_path(before: tuple[str, ...]) -> None:
    sys.path[:] = before


def _collector() -> tuple[bool, Any]:
    return gc.isenabled(), gc.get_threshold()


def _put_collector(before: tuple[bool, Any]) -> None:
    (gc.enable if before[0] else gc.disable)()
    gc.set_threshold(*before[1])


def _handlers() -> tuple[Any, ...]:
    return tuple([_handler_of(each) for each in SIGNALS])


def _put_handlers(before: tuple[Any, ...]) -> None:
    for number, handler in zip(SIGNALS, before, strict=True):
        if handler is not None and _handler_of(number) is not handler:
            signal.signal(number, handler)


def _tell_handlers(before: tuple[Any, ...], after: tuple[Any, ...]) -> str:
    return ", ".join(
        number.name for number, old, new in zip(SIGNALS, before, after, strict=True) if old is not new
    )  # fmt: skip


def _alarm() -> bool:
    return signal.getitimer(signal.ITIMER_REAL)[0] > 0


def _stop_alarm(_before: bool) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)


def _tell_alarm(before: bool, _after: bool) -> str:
    """One that ran before is someone's time limit, which may have come."""
    return "" if before else "a timer is running"


def _streams() -> tuple[Any, ...]:
    return sys.stdin, sys.stdout, sys.stderr


def _put_streams(before: tuple[Any, ...]) -> None:
    sys.stdin, sys.stdout, sys.stderr = before


def _hooks() -> tuple[Any, ...]:
    return sys.excepthook, sys.displayhook, sys.gettrace(), sys.getprofile()


def _put_hooks(before: tuple[Any, ...]) -> None:
    sys.excepthook, sys.displayhook, trace, profile = before
    sys.settrace(trace)
    sys.setprofile(profile)


def _logging() -> tuple[Any, ...]:
    root = logging.root
    return root.level, root.manager.disable, tuple(root.handlers)


def _put_logging(before: tuple[Any, ...]) -> None:
    logging.root.setLevel(before[0])
    logging.disable(before[1])
    logging.root.handlers[:] = before[2]


def _levels() -> Facet:
    """The levels of the loggers that are there now."""
    loggers = [each for each in logging.root.manager.loggerDict.values() if isinstance(each, logging.Logger)]

    def read() -> list[int]:
        return [each.level for each in loggers]

    def put_back(before: list[int]) -> None:
        for each, level in zip(loggers, before, strict=True):
            each.setLevel(level)

    def tell(before: list[int], after: list[int]) -> str:
        changed = [each.name for each, old, new in zip(loggers, before, after, strict=True) if old != new]
        return ", ".join(changed[:3]) + (" …" if len(changed) > 3 else "")

    return Facet(name="log_levels", read=read, put_back=put_back, tell=tell)


def _tell_threads(before: int, after: int) -> str:
    return f"{after - before} more" if after > before else ""


def seed() -> None:
    """Python's and NumPy's random numbers start anew. Not for PyTorch's own TestCase, which does that in its set-up."""
    random.seed(SEED)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        with contextlib.suppress(AttributeError):
            numpy.random.seed(SEED)


SEED: Final = 1234
"""The seed of PyTorch's TestCase."""
