"""Standard streams that may be closed, full, or left by their reader while a command still has work to do."""

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Outlet(io.RawIOBase):
    """A file descriptor whose failures are kept instead of raised; what comes after one is dropped.

    A reader that leaves, as `| head` does, is no failure.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self.left = False
        """Whether nothing that is written arrives any more."""
        self.trouble = ""
        """Why, when it was not the reader's wish."""

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """The descriptor."""
        return self._number

    def isatty(self) -> bool:
        """Whether a terminal is behind it."""
        return os.isatty(self._number)

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write, or drop what cannot be written."""
        if not self.left:
            try:
                return os.write(self._number, data)
            except OSError as error:
                self.left = True
                self.trouble = "" if error.errno == errno.EPIPE else os.strerror(error.errno or 0)
        return memoryview(data).nbytes


def settle() -> Outlet:
    """Put outlets behind sys.stdout and sys.stderr; the one behind stdout, to be asked for trouble at the end."""
    out, sys.stdout = _settled(sys.stdout, 1)
    _, sys.stderr = _settled(sys.stderr, 2)
    return out


def _settled(stream: TextIO | None, number: int) -> tuple[Outlet, TextIO]:
    if stream is None:
        # Closed by whoever started us: the next file opened would get its number, and our remarks.
        missing = os.open(os.devnull, os.O_WRONLY)
        if missing != number:
            os.dup2(missing, number)
            os.close(missing)
    outlet = Outlet(number)
    encoding = stream.encoding if stream is not None else "utf-8"
    lines = outlet.isatty() or number == 2
    written = io.BufferedWriter(outlet)
    return outlet, io.TextIOWrapper(written, encoding=encoding, errors="backslashreplace", line_buffering=lines)


def reader_left() -> bool:
    """Whether what is printed on stdout is dropped, so that more of it need not be made."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(raw, Outlet) and raw.left
