"""Plans of test files, kept between runs as long as nothing that made them has changed."""

import contextlib
import hashlib
import os
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from conformance import expectations
from conformance.plan import PlannedTest
from conformance.pytest_hooks import identity
from conformance.supervision import environment

OFF: Final = "CONFORMANCE_NO_PLAN_CACHE"
"""Variable that, set to anything, has every file collected anew."""
MOST_KEPT: Final = 400
"""Plans in the cache; the oldest go first. That of test_ops.py is the largest, 11 MB."""
_PREFIXES: Final = ("PYTORCH_", "TORCH_", "TEST_", "NEURON_", "CONFORMANCE_", "DISABLED_TESTS", "SLOW_TESTS", "CI",
                    "OPINFO_", "SANDCASTLE", "BACKEND", "STRICT_DEFAULT")  # fmt: skip
"""Variables that PyTorch's harness, a backend or this package looks at."""
_READ: Final = re.compile(rb"""(?:environ(?:\.get)?\s*[\[(]|getenv\s*\()\s*(?:key\s*=\s*)?["']([A-Za-z_]\w*)["']""")
"""Where a file reads a variable by name."""
_NO_MATTER: Final = frozenset({"CONFORMANCE_HOME", "CONFORMANCE_CACHE", OFF})
_SETTINGS: Final = ("conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""Files beside a test file and above it that pytest obeys; one that appears counts as a change."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """First line of a kept plan: a hash of each file that it was made from, "" for one not there, and of the rest.

    `variables` are hashes of those that the files read by name: a list of parameters may come from one.
    """

    depends: dict[str, str]
    body: str
    variables: dict[str, str] = {}


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanCache:
    """`made_by` is a hash over all that a plan depends on but the test files. An entry that is broken is none."""

    folder: Path
    made_by: str

    def load(self, file: Path) -> list[PlannedTest] | None:
        """The plan of a file; None when it is not there, or any file that it was made from is another now."""
        try:
            first, _, body = self._entry(file).read_bytes().partition(b"\n")
            header = msgspec.json.decode(first, type=Header)
            if header.body != _hash(body) or any(_digest(Path(path)) != was for path, was in header.depends.items()):
                return None
            if any(_value(name) != was for name, was in header.variables.items()):
                return None
            return msgspec.json.Decoder(PlannedTest).decode_lines(body)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def store(self, file: Path, tests: Iterable[PlannedTest], loaded: Iterable[str]) -> None:
        """Keep the plan of a file that loaded those files. A disk that refuses costs the next run some seconds."""
        path = file.absolute()
        named = [path, *map(Path, loaded), *_obeyed(path)]
        body = msgspec.json.Encoder().encode_lines(list(tests))
        read = sorted({name for each in named for name in _read_by(each)})
        header = Header(
            depends={str(each): _digest(each) for each in named}, body=_hash(body),
            variables={name: _value(name) for name in read},
        )  # fmt: skip
        entry = self._entry(file)
        with contextlib.suppress(OSError):
            entry.parent.mkdir(parents=True, exist_ok=True)
            partial = entry.with_suffix(f".{os.getpid()}")
            partial.write_bytes(msgspec.json.encode(header) + b"\n" + body)
            partial.replace(entry)
            self._forget_the_oldest()

    def _entry(self, file: Path) -> Path:
        return self.folder / f"{_hash(self.made_by.encode(), str(file.absolute()).encode())}.plan"

    def _forget_the_oldest(self) -> None:
        kept = sorted(self.folder.glob("*.plan"), key=lambda each: each.stat().st_mtime, reverse=True)
        for each in kept[MOST_KEPT:]:
            each.unlink(missing_ok=True)


def of(cache: Path, target: str, release: str) -> PlanCache | None:
    """The cache below the folder `cache` for a target's release as things stand; None where it is switched off."""
    if os.environ.get(OFF):
        return None
    return PlanCache(folder=cache / "plans", made_by=made_by(target, release))


def made_by(target: str, release: str) -> str:
    """A hash over what every plan depends on: this package, the installed ones, machine, variables, expectations."""
    coverage, told = expectations.load(target, release), expectations.Chosen.of_environment()
    in_force = [each.id for each in (*coverage.skips, *coverage.expects)]
    files = [_digest(path) for path in told.paths(target)]
    parts = (
        target, release, environment.code_hash(target, ["upstream"]), platform.python_version(), platform.node(),
        _installed(), _harness(), *_variables(os.environ), str(coverage.probe), *in_force, *files,
    )  # fmt: skip
    return _hash(*(each.encode("utf-8", "surrogateescape") for each in parts))


def _installed() -> str:
    """Every installed package with its version: tests skip for those that are missing."""
    found = {f"{each.metadata['Name']} {each.version}" for each in metadata.distributions()}
    return _hash(*(each.encode() for each in sorted(found)))


def _harness() -> str:
    """Stamps of PyTorch's test harness, which a developer's build of torch changes under one version."""
    spec = find_spec("torch")
    places = spec.submodule_search_locations if spec else None
    files = sorted(Path(places[0]).glob("testing/_internal/**/*.py")) if places else []
    stamps = [(each.stat().st_mtime_ns, each.stat().st_size) for each in files]
    return _hash(repr(stamps).encode())


def _read_by(path: Path) -> set[str]:
    try:
        return {name.decode() for name in _READ.findall(path.read_bytes())}
    except OSError:
        return set()


def _value(name: str) -> str:
    """A hash of a variable's value, "" where it is not set: values may be secrets."""
    value = os.environ.get(name)
    return "" if value is None else _hash(value.encode("utf-8", "surrogateescape"))


def _variables(found: Mapping[str, str]) -> Iterable[str]:
    for name, value in sorted(found.items()):
        if name.startswith(_PREFIXES) and name not in _NO_MATTER:
            yield f"{name}={value}"
            yield from (_digest(Path(each)) for each in value.split(os.pathsep) if each and len(each) < 4_096)


def _obeyed(file: Path) -> list[Path]:
    tree = Path(identity.tree_of(file))
    folders = [each for each in file.parents if each.is_relative_to(tree)]
    return [folder / name for folder in (*folders, tree.parent) for name in _SETTINGS]


def _digest(path: Path) -> str:
    """A hash over a file's content, "" for one that is not there or cannot be read."""
    try:
        return _hash(path.read_bytes()) if path.is_file() else ""
    except (OSError, ValueError):
        return ""


def _hash(*parts: bytes) -> str:
    whole = hashlib.blake2b(digest_size=16)
    for each in parts:
        whole.update(each + b"\0")
    return whole.hexdigest()
