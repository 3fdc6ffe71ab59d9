"""Under what a run takes place: versions, machine, revision, and the variables that change results."""

import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from conformance import suites, targets
from conformance.provenance import rule_files

PACKAGES: Final = ("torch", "numpy", "scipy", "pytest", "transformers", "torch-neuronx", "neuronx-cc", "libneuronxla")
PREFIXES: Final = ("NEURON_", "TORCH_NEURONX_", "PYTORCH_", "TORCH_", "CONFORMANCE_")
"""Variables are recorded by this list alone, so that no secret of the environment ends in a run's folder."""

_PACKAGE: Final = Path(__file__).parents[1]
_HASHED: Final = frozenset({".py", ".toml", ".cpp", ".h"})
_NOT_IN_CHILDREN: Final = frozenset({"cli", "store", "recorded"})
"""Packages that no child imports: commands and the store."""
_SECRETS: Final = ("TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL")


def fingerprint(target: str, release: str, suite_names: Iterable[str]) -> dict[str, str]:
    """What must be equal for a run to be resumed, apart from its plan. Raises UsageError for broken rules for skips."""
    return {
        "torch": _version("torch"),
        "python": platform.python_version(),
        "target": target,
        "release": release,
        "code": code_hash(target, suite_names),
        "rules": rule_files.digest(),
    }


def describe() -> dict[str, str]:
    """What is recorded with a run beside the device's own environment."""
    versions = {f"package.{name}": found for name in PACKAGES if (found := _version(name))}
    return {
        **versions,
        **{f"variable.{name}": value for name, value in _variables(os.environ).items()},
        "machine.system": platform.system(),
        "machine.kernel": platform.release(),
        "machine.architecture": platform.machine(),
        "machine.cpu": _cpu_model(),
        "machine.cores": str(cores()),
        "machine.memory": _memory(),
        "python.implementation": platform.python_implementation(),
        "conformance.revision": revision(),
    }


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def code_hash(target: str, suite_names: Iterable[str]) -> str:
    """A hash over this package's sources, and those of a target or suite that another package provides."""
    whole = hashlib.blake2b(_package_hash(), digest_size=16)
    for path in _foreign(target, suite_names):
        whole.update(path.read_bytes() if path else b"")
    return whole.hexdigest()


def code_files(target: str, suite_names: Iterable[str]) -> list[Path]:
    """The files that `code_hash` is made of and that children may load."""
    ours = [path for path in _package_files() if path.relative_to(_PACKAGE).parts[0] not in _NOT_IN_CHILDREN]
    return [*ours, *(path for path in _foreign(target, suite_names) if path)]


def _foreign(target: str, suite_names: Iterable[str]) -> list[Path | None]:
    modules = {targets.module_of(target), *(suites.module_of(name) for name in suite_names)}
    return [path for name in sorted(modules) if not name.startswith("conformance.") for path in _sources(name)]


def _sources(module: str) -> list[Path | None]:
    """The file of a module, and of one inside a package all of the package's."""
    found = _source(module)
    return [*_hashed(found.parent)] if found and "." in module else [found]


def _package_files() -> list[Path]:
    return _hashed(_PACKAGE)


def _hashed(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.suffix in _HASHED and path.is_file()]


@cache
def _package_hash() -> bytes:
    whole = hashlib.blake2b(digest_size=16)
    for path in _package_files():
        whole.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.digest()


def _source(module: str) -> Path | None:
    found = find_spec(module)
    return Path(found.origin) if found and found.origin else None


@cache
def revision() -> str:
    """The git revision of the checkout, with `+changes` when files differ from it; empty outside of one."""
    head = _git(_PACKAGE, "rev-parse", "HEAD")
    return head + ("+changes" if head and _git(_PACKAGE, "status", "--porcelain", "--untracked-files=no") else "")


def _git(root: Path, *arguments: str) -> str:
    # Without optional locks: asking must not write to the user's index.
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _variables(found: Mapping[str, str]) -> dict[str, str]:
    listed = {name: value for name, value in sorted(found.items()) if name.startswith(PREFIXES)}
    return {name: value for name, value in listed.items() if not any(word in name for word in _SECRETS)}


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def cache_state(place: str) -> str:
    """Whether the compile cache is cold or warm; unknown where it is not a folder of this machine."""
    if not place or "://" in place:
        return "unknown"
    try:
        return "warm" if any(Path(place).iterdir()) else "cold"
    except FileNotFoundError:
        return "cold"
    except OSError:
        return "unknown"


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"
    except (OSError, ValueError):
        return ""
