"""Files of lines that processes append to while they work."""

import os
from pathlib import Path


def append(path: Path, lines: bytes) -> None:
    """Add whole lines to a file; one write, so that a killed process leaves at most a torn last line."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(handle, lines)
    finally:
        os.close(handle)
