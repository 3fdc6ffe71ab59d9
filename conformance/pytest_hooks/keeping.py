"""The journal of a plain pytest session: a disk that refuses ends the session and is charged to no test."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

import pytest

from conformance.errors import ExitCode, StoreError
from conformance.journal import Journal
from conformance.outcomes import Attempt, Stage


class Records(Protocol):
    """What a recorder needs of a journal."""

    def begin(self, key: str, number: int = 1) -> None:
        """Record that a test is started."""

    def stage(self, key: str, stage: Stage) -> None:
        """Record that the open test went on to another stage."""

    def end(self, key: str, attempt: Attempt, number: int = 1) -> None:
        """Record how an attempt ended."""


class Kept:
    """See `Records`. At the first write that fails, `refused` is told one sentence and the session ends with code 4.

    The test that was open then has no outcome, and its beginning is taken back: it is `not_run` and no crash. Raises
    StoreError when the journal cannot be begun.
    """

    def __init__(self, path: Path, refused: Callable[[str], None]) -> None:
        self._path, self._refused, self._trouble = path, refused, ""
        with written(path):
            self._journal = Journal(path)

    def begin(self, key: str, number: int = 1) -> None:
        """Record that a test is started."""
        with self._guarded():
            self._journal.begin(key, number)

    def stage(self, key: str, stage: Stage) -> None:
        """Record that the open test went on to another stage."""
        with self._guarded():
            self._journal.stage(key, stage)

    def end(self, key: str, attempt: Attempt, number: int = 1) -> None:
        """Record how an attempt ended."""
        with self._guarded():
            self._journal.end(key, attempt, number)

    def close(self, why: str) -> None:
        """Say that this process ended in good order, if that can be written."""
        if self._trouble:
            with suppress(OSError):
                self._journal.close(why)
            return
        with self._guarded():
            self._journal.close(why)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        if self._trouble:
            self._end_session()
        try:
            with written(self._path):
                yield
        except StoreError as error:
            self._trouble = str(error)
            with suppress(OSError):
                self._journal.withdraw()
            self._refused(self._trouble)
            self._end_session()

    def _end_session(self) -> None:
        pytest.exit(ended_by(self._trouble), returncode=ExitCode.STORE)


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Have an OSError say what cannot be written. Raises StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


_LAST: Final = "tests without an outcome are not_run"


def ended_by(sentence: str) -> str:
    """The line with which a session ends whose run cannot be written."""
    return f"conformance: {sentence}; {_LAST} (exit {int(ExitCode.STORE)}: {ExitCode.STORE.name.lower()})"
