"""What pytest does not pass on of a unittest test: where a skip was raised and what an expected failure was.

unittest calls `addSkip` while the SkipTest is being handled and hands only its text on; the exception is taken from
there. The methods of pytest's own result class are wrapped while a run is recorded and put back afterwards.
"""

import sys
import unittest
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import pytest
from _pytest.unittest import TestCaseFunction

Watcher = Callable[[str, BaseException | None, str], None]
"""Called with what happened (skip, subskip, xfail, xpass), the exception and the text."""


class Watch:
    """Wraps the result methods of unittest items; one at a time."""

    METHODS: Final = ("addSkip", "addExpectedFailure", "addUnexpectedSuccess")

    def __init__(self, tell: Watcher) -> None:
        self._tell = tell
        self._kept: dict[str, Any] = {}

    def start(self) -> None:
        """Wrap the methods."""
        self._kept = {name: getattr(TestCaseFunction, name) for name in self.METHODS}
        for name, put in (
            ("addSkip", self._skip(self._kept["addSkip"])),
            ("addExpectedFailure", self._expected(self._kept["addExpectedFailure"])),
            ("addUnexpectedSuccess", self._unexpected(self._kept["addUnexpectedSuccess"])),
        ):
            setattr(TestCaseFunction, name, put)

    def stop(self) -> None:
        """Put the methods back."""
        for name, kept in self._kept.items():
            setattr(TestCaseFunction, name, kept)
        self._kept = {}

    def _skip(self, kept: Any) -> Any:
        @wraps(kept)
        def add_skip(item: Any, testcase: Any, reason: str, **more: Any) -> None:
            error = sys.exc_info()[1]
            whole = isinstance(testcase, unittest.TestCase) and hasattr(testcase, "_testMethodName")
            known = isinstance(error, unittest.SkipTest | pytest.skip.Exception)
            self._tell("skip" if whole and not _is_subtest(testcase) else "subskip", error if known else None, reason)
            kept(item, testcase, reason, **more)

        return add_skip

    def _expected(self, kept: Any) -> Any:
        @wraps(kept)
        def add_expected(item: Any, testcase: Any, raised: Any, *more: Any) -> None:
            self._tell("xfail", raised[1] if isinstance(raised, tuple) else None, "")
            kept(item, testcase, raised, *more)

        return add_expected

    def _unexpected(self, kept: Any) -> Any:
        @wraps(kept)
        def add_unexpected(item: Any, testcase: Any, *more: Any) -> None:
            self._tell("xpass", None, "")
            kept(item, testcase, *more)

        return add_unexpected


def _is_subtest(testcase: Any) -> bool:
    return type(testcase).__name__ == "_SubTest"
