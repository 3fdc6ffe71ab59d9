"""Keeps a test that closes sys.stdout from taking pytest's capture, and with it every later test, along."""

import sys
from collections.abc import Generator
from contextlib import suppress
from typing import Any

import pytest


class KeptOpen:
    """While a test runs, closing the streams that pytest captures with does nothing; a pytest plugin."""

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Innermost of all wrappers: capturing has begun."""
        streams: list[Any] = [sys.stdout, sys.stderr]
        for each in streams:
            with suppress(AttributeError):  # a stream of another kind, as under -s, is its owner's business
                each.close = _stay_open
        try:
            return (yield)
        finally:
            for each in streams:
                with suppress(AttributeError):
                    del each.close


def _stay_open() -> None:
    """A test may say that it is done with a stream that is not its own."""
