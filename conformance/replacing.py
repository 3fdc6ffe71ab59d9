"""A file that is there whole or as it was before."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from conformance.errors import StoreError


@contextmanager
def replacing(out: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `out` in the end, and goes after an error. Raises StoreError when it cannot."""
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(out)
    except OSError as error:
        raise StoreError(f"{str(out)!r} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
