"""Errors that end a command: one sentence for the user and an exit code of the vocabulary."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit code means, the same for every command."""

    FINE = 0
    REGRESSION = 1
    USAGE = 2
    INCOMPLETE = 3
    STORE = 4
    INTERRUPTED = 130


class ConformanceError(Exception):
    """Base of the errors that the command line prints as one sentence."""

    code = ExitCode.USAGE


class UsageError(ConformanceError):
    """A wrong option, name, table or configuration; the sentence names the value and the remedy."""

    code = ExitCode.USAGE


class IncompleteError(ConformanceError):
    """A run, or a side of a comparison, without all its outcomes."""

    code = ExitCode.INCOMPLETE


class StoreError(ConformanceError):
    """The database, the disk or the network refused."""

    code = ExitCode.STORE


class InterruptedRunError(ConformanceError):
    """The user, or the system, asked a run to stop; it can be resumed."""

    code = ExitCode.INTERRUPTED
