"""Build the device's C++ library once per torch version, source and compiler, and say where it is."""

import errno
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from conformance import settings
from conformance.errors import UsageError

SOURCES: Final = Path(__file__).parent / "src"
_FLAGS: Final = ("-std=c++20", "-O2", "-fPIC", "-shared", "-w")


def library() -> Path:
    """The built library, built first when it is not in the cache.

    Raises UsageError when PyTorch, a C++ compiler or disk space is missing, or when the compiler fails.
    """
    folder = settings.load().cache / "simulator"
    compiler = _compiler()
    target = folder / f"neuronsim-{_key(compiler)}.so"
    if target.exists():
        return target
    if not compiler:
        raise UsageError("the simulated device needs a C++ compiler and none was found: install g++ or set CXX")
    try:
        with _locked(folder):
            if not target.exists():
                _build(compiler, target)
    except OSError as error:
        raise UsageError(_disk_sentence(error, folder)) from error
    return target


def _compiler() -> str:
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and (found := shutil.which(name)):
            return found
    return ""


def _key(compiler: str) -> str:
    whole = hashlib.sha256(f"{version('torch')} {_FLAGS} {_compiler_version(compiler)}".encode())
    for source in sorted(SOURCES.iterdir()):
        whole.update(source.name.encode() + source.read_bytes())
    return whole.hexdigest()[:20]


def _compiler_version(compiler: str) -> str:
    if not compiler:
        return ""
    asked = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return asked.stdout.partition("\n")[0]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "build.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(compiler: str, target: Path) -> None:
    print("simulator: building the simulated device, once, about 20 seconds …", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        built = Path(folder) / "neuronsim.so"
        done = subprocess.run(
            _command(compiler, built), capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": folder}
        )
        if "No space left on device" in done.stderr:
            raise OSError(errno.ENOSPC, "No space left on device")
        if done.returncode:
            log = target.with_suffix(".log")
            log.write_text(done.stderr)
            raise UsageError(f"{compiler} could not build the simulated device: {_first_error(done.stderr)} ({log})")
        built.replace(target)
    print(f"simulator: built {target}", file=sys.stderr, flush=True)


def _command(compiler: str, built: Path) -> list[str]:
    torch = _torch_folder()
    headers = torch / "include"
    return [
        compiler, *_FLAGS, f"-I{headers}", f"-I{headers / 'torch/csrc/api/include'}", str(SOURCES / "neuronsim.cpp"),
        "-o", str(built), f"-L{torch / 'lib'}", "-lc10", "-ltorch_cpu",
    ]  # fmt: skip


def _torch_folder() -> Path:
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        raise UsageError("the simulated device needs PyTorch and it is not installed: pip install torch")
    return Path(spec.origin).parent


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if "error" in line]
    return lines[0][:300] if lines else "it said nothing"


def _disk_sentence(error: OSError, folder: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space to build the simulated device in {folder}: free 10 MB or set {settings.CACHE}"
    return f"the simulated device cannot be built in {folder} ({error}): set {settings.CACHE} to a writable folder"


if __name__ == "__main__":
    try:
        print(library())
    except UsageError as error:
        sys.exit(f"simulator: {error}")
