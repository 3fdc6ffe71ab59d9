"""From names as others write them to identities of planned tests. What is not told exactly is not guessed."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from conformance.expectations.imports.formats import Listed
from conformance.outcomes import TestId
from conformance.pytest_hooks import identity

DEVICES: Final = ("xpu", "npu", "neuron", "hpu", "mps", "xla", "mtia", "cuda", "privateuse1", "cpu", "meta")
"""Devices after which other backends name their copies of PyTorch's tests."""

LONGEST: Final = 2_000
"""Characters of a name that is looked at: the longest known has 250."""

_UNITTEST: Final = re.compile(r"(?P<name>\S+) \((?:(?P<module>[\w.]+)\.)?(?P<cls>\w+)\)")
_NODE: Final = re.compile(r"(?P<file>[^:]+\.py)::(?:(?P<cls>[\w.:]+)::)?(?P<name>[^:].*)")
_DOTTED: Final = re.compile(r"(?P<module>[\w.]+)\.(?P<cls>\w+)\.(?P<name>test\w*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """A name taken apart; `file` and `cls` are "" where it does not tell them."""

    file: str
    cls: str
    name: str


@dataclass(kw_only=True, slots=True)
class Resolved:
    """Keys found for each listed test, and the listed tests without any, each with the reason."""

    found: list[tuple[Listed, tuple[str, ...]]] = field(default_factory=list)
    left: list[tuple[Listed, str]] = field(default_factory=list)

    def take(self, listed: Listed, keys: Sequence[str], why: str) -> None:
        """Note what became of a listed test."""
        if keys:
            self.found.append((listed, tuple(keys)))
        else:
            self.left.append((listed, why))


def take_apart(text: str) -> Named:
    """The parts of `test_x (module.Class)`, `path/file.py::Class::test_x`, `module.Class.test_x` or of a bare name."""
    if found := _UNITTEST.fullmatch(text):
        module = found["module"] or ""
        return Named(file="" if module == "__main__" else _file(module), cls=found["cls"], name=found["name"])
    if found := _NODE.fullmatch(text):
        cls = (found["cls"] or "").replace("::", ".")
        return Named(file=_path(found["file"]), cls=cls, name=found["name"])
    if found := _DOTTED.fullmatch(text):
        return Named(file=_file(found["module"]), cls=found["cls"], name=found["name"])
    return Named(file="", cls="", name=text)


def _file(module: str) -> str:
    return module.removeprefix("test.").replace(".", "/")


def _path(written: str) -> str:
    """A file's path below the folder of tests: all of it, where it names no such folder."""
    path = PurePosixPath(written)
    if {"test", "tests"}.intersection(path.parts[:-1]):
        return identity.file_of(path)
    return "/".join(each for each in path.with_suffix("").parts if each not in ("..", "/"))


def candidates(named: Named) -> Iterator[Named]:
    """The name as written, and what it is without a device, one for each device that it may have."""
    yield named
    for device in DEVICES:
        cls = identity.class_without_device(named.cls, device)
        name, _ = identity.without_device(named.name, device, {})
        if (cls != named.cls or not named.cls) and (cls, name) != (named.cls, named.name):
            yield Named(file=named.file, cls=cls, name=name)


def file_names(written: str) -> tuple[str, ...]:
    """What a file may be called in identities: as written, and without the device behind its name."""
    plain = _path(written) if written.endswith(".py") else written
    bare = next((plain.removesuffix(f"_{each}") for each in DEVICES if plain.endswith(f"_{each}")), plain)
    return tuple(dict.fromkeys((plain, bare)))


class Plan:
    """Planned tests of suite upstream by name, to look others' names up in."""

    def __init__(self, tests: Iterable[TestId]) -> None:
        self._keys: set[str] = set()
        self._by_name: dict[tuple[str, str], list[TestId]] = defaultdict(list)
        self._by_file: dict[str, list[TestId]] = defaultdict(list)
        self._spellings: dict[tuple[str, tuple[str, ...]], list[tuple[str, tuple[str, ...]]]] = {}
        for test in tests:
            self._keys.add(test.key)
            if test.suite == identity.SUITE and test.name != identity.MODULE:
                self._by_name[test.cls, test.name].append(test)
                if test.cls:
                    self._by_name["", test.name].append(test)
                self._by_file[test.file].append(test)

    def resolve(self, listed: Iterable[Listed]) -> Resolved:
        """The planned tests that each listed one is."""
        made = Resolved()
        for each in listed:
            if len(each.name) > LONGEST:
                made.take(each, (), f"its name has {len(each.name):,} characters")
            else:
                made.take(each, *(self._parts(each) if each.pattern else self._one(each)))
        return made

    def _one(self, listed: Listed) -> tuple[list[str], str]:
        if listed.name in self._keys:
            return [listed.name], ""
        for named in candidates(take_apart(listed.name)):
            found = self._by_name.get((named.cls, named.name), [])
            if named.file:
                found = [test for test in found if test.file in file_names(named.file)]
            if len(found) == 1:
                return [found[0].key], ""
            if found:
                places = sorted({f"{test.file}::{test.cls}" for test in found})
                return [], f"{len(found)} planned tests have this name, in {', '.join(places[:3])}"
        return [], "no planned test has this name"

    def _parts(self, listed: Listed) -> tuple[list[str], str]:
        """Every test of the file that pytest's -k would find by this text: without regard to case, in class or name."""
        if not re.fullmatch(r"[\w.\[\]-]+", listed.name):
            return [], "it is an expression, not a part of a name"
        named = tuple(each for each in DEVICES if f"_{each}" in listed.name.lower() or _is_for(listed.file, each))
        spelled = [each for file in file_names(listed.file) for each in self._spelled(file, named)]
        if not spelled:
            return [], f"no test of {listed.file} is planned"
        wanted = listed.name.lower()
        keys = [key for key, spellings in spelled if any(wanted in each for each in spellings)]
        return keys, "it is part of no planned test's name"

    def _spelled(self, file: str, devices: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
        """The tests of a file with their spellings, made once for all names of a list."""
        if (file, devices) not in self._spellings:
            tests = self._by_file.get(file, ())
            self._spellings[file, devices] = [(test.key, tuple(_spellings(test, devices))) for test in tests]
        return self._spellings[file, devices]


def _is_for(file: str, device: str) -> bool:
    return PurePosixPath(file).stem.endswith(f"_{device}")


def _spellings(test: TestId, devices: Sequence[str]) -> Iterator[str]:
    """A test's class and name in lower case, as they are and as each device would have them."""
    tail = f"_{test.dtype}" if test.dtype and test.name.endswith(f"_{test.dtype}") else ""
    for device in devices or ("",):
        between = f"_{device}" if device else ""
        yield f"{test.name.removesuffix(tail)}{between}{tail}".lower()
        yield f"{test.cls}{device}".lower()


def without_plan(listed: Iterable[Listed]) -> Resolved:
    """Identities of the names that say file, class and test; nobody has looked whether there are such tests."""
    made = Resolved()
    for each in listed:
        key = "" if each.pattern else _spelled_out(each.name)
        why = "it is a part of names" if each.pattern else "its name does not tell file and class"
        made.take(each, [key] if key else [], f"{why}: give a plan with --plan-of RUN")
    return made


def _spelled_out(text: str) -> str:
    """The identity that a name spells out; "" where it does not, or where two devices could be meant."""
    if text.count("::") == 3 and not text.partition("::")[0].endswith(".py"):
        return text
    if len(text) > LONGEST:
        return ""
    named = take_apart(text)
    if not (named.file and named.cls):
        return ""
    without = [each for each in candidates(named) if each.cls != named.cls]
    shorter = {each for each in without if each.name != named.name} or set(without) or {named}
    found = shorter.pop()
    return "" if shorter else f"{identity.SUITE}::{found.file}::{found.cls}::{found.name}"


def by_reason(resolved: Resolved) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Keys by reason and link, in the order of the list, each once."""
    made: dict[tuple[str, str], dict[str, None]] = {}
    taken = set[str]()
    for listed, keys in resolved.found:
        new = [each for each in keys if each not in taken]
        taken.update(new)
        if new:
            made.setdefault((listed.reason, listed.link), {}).update(dict.fromkeys(new))
    return {reason: tuple(keys) for reason, keys in made.items()}
