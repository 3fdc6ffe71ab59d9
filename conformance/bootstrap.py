"""Set-up: a virtual environment with everything in it. Runs on any Python with the standard library alone.

Example: python3 conformance/bootstrap.py
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "neuron-conformance.stamp"
MADE_FOR = VENV / "neuron-conformance.root"
INPUTS = ("pyproject.toml", "constraints.txt", "conformance/bootstrap.py")
OLDEST_PYTHON = (3, 11)
NEEDED_BYTES = 3_000_000_000
"""A CPU build of torch with everything else took 1.5 GB of disk; a download is kept beside it while pip unpacks."""


class SetupError(Exception):
    """What is missing on this machine, in one sentence with the remedy."""


def main() -> int:
    """Set up, or say that nothing is to do. 0 when ready, 2 when something is missing."""
    try:
        check_python()
        if STAMP.exists() and STAMP.read_text() == stamp():
            return 0
        check_machine()
        install()
    except SetupError as error:
        print(f"setup: {error} (exit 2: usage)", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("setup: interrupted; run it again to go on (exit 130: interrupted)", file=sys.stderr)
        return 130
    return 0


def stamp() -> str:
    """A hash over what the environment is made from; equal means that nothing is to do."""
    whole = hashlib.blake2b(digest_size=16)
    for name in INPUTS:
        whole.update((ROOT / name).read_bytes())
    whole.update(f"{sys.version}{platform.machine()}{ROOT}{os.environ.get('TORCH_INDEX', '')}".encode())
    return whole.hexdigest()


def check_python() -> None:
    """Raise SetupError when this Python is too old."""
    if sys.version_info < OLDEST_PYTHON:
        raise SetupError(
            f"Python {platform.python_version()} at {sys.executable} is too old: install Python 3.11 or newer "
            "and name it, as in `make setup PYTHON=python3.12`"
        )


def check_machine() -> None:
    """Raise SetupError when the venv module, a C++ compiler or disk space is missing."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        raise SetupError("Python has no venv module: install it (Debian: apt-get install python3-venv)") from None
    if compiler() is None:
        raise SetupError("no C++ compiler was found: install one (Debian: apt-get install g++) or name it in CXX")
    free = shutil.disk_usage(ROOT).free
    if free < NEEDED_BYTES and not VENV.exists():
        raise SetupError(
            f"{ROOT} has {free / 1e9:.1f} GB free, set-up needs {NEEDED_BYTES / 1e9:.0f} GB: free some space"
        )


def compiler() -> str | None:
    """The C++ compiler that builds the simulated device: $CXX, else c++, g++ or clang++."""
    named = os.environ.get("CXX")
    for each in [named] if named else ["c++", "g++", "clang++"]:
        if found := shutil.which(each):
            return found
    return None


def install() -> None:
    """Create the environment, install the pinned packages, build the simulated device, leave the stamp."""
    python = VENV / "bin" / "python"
    if not _usable(python):
        _step(1, "creating .venv", [sys.executable, "-m", "venv", "--clear", str(VENV)])
        MADE_FOR.write_text(f"{ROOT}\n{sys.version}")
    index = os.environ.get("TORCH_INDEX")
    extra = ["--extra-index-url", index] if index else []
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "on"]
    packages = ["-c", str(ROOT / "constraints.txt"), "-e", f"{ROOT}[dev,sweep]"]
    _step(2, "installing the packages, torch first of all: some minutes", [*pip, *extra, *packages])
    _step(3, "building the simulated device: about 30 seconds", [str(python), "-m", "conformance.simulator.build"])
    STAMP.write_text(stamp())
    print("setup: done", file=sys.stderr)


def _usable(python: Path) -> bool:
    """Whether the environment is this checkout's and this Python's: its scripts name both by absolute path."""
    made_for = MADE_FOR.read_text() if MADE_FOR.exists() else ""
    return python.exists() and made_for == f"{ROOT}\n{sys.version}"


def _step(number: int, what: str, command: Sequence[str]) -> None:
    print(f"setup: [{number}/3] {what}", file=sys.stderr, flush=True)
    started = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
    if done.returncode:
        raise SetupError(f"step {number} of 3 ({what}) failed with exit code {done.returncode}; its output is above")
    print(f"setup: [{number}/3] took {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
