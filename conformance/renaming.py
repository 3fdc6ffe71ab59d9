"""The alias map: what tests, ops, classes and files were called before, as data, and a test's name after it."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import resources

from conformance.errors import UsageError
from conformance.outcomes import TestId


@dataclass(frozen=True, kw_only=True, slots=True)
class Renames:
    """Old names to new ones: identities, full names of ops (`name.variant`), `file::class`, files."""

    tests: Mapping[str, str] = field(default_factory=dict)
    ops: Mapping[str, str] = field(default_factory=dict)
    classes: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """All of it, to be compared and hashed."""
        return tuple(tuple(getattr(self, each.name).items()) for each in fields(self))

    @property
    def wide(self) -> bool:
        """Whether one entry may rename many tests."""
        return bool(self.ops or self.classes or self.files)

    def concerns(self, test: TestId) -> bool:
        """Whether a test bears an old name of an op, a class or a file."""
        return self.renamed(test) != test.key

    def renamed(self, test: TestId) -> str:
        """The identity after the renames; its own where none applies. A class is looked up in its file's old name."""
        if test.key in self.tests:
            return self.tests[test.key]
        found = self._op(test)
        file, _, cls = self.classes.get(f"{test.file}::{found.cls}", f"{test.file}::{found.cls}").partition("::")
        return replace(found, file=self.files.get(file, file), cls=cls).key

    def _op(self, test: TestId) -> TestId:
        full = f"{test.op}.{test.variant}" if test.variant else test.op
        new = self.ops.get(full)
        if new is None:
            return test
        # In suite ops the op is the class; upstream it is in the name, with underscores for dots.
        cls = new if test.cls == full else test.cls
        return replace(test, cls=cls, name=_words(full).sub(new.replace(".", "_"), test.name, count=1))


@cache
def _words(full: str) -> re.Pattern[str]:
    """The op as a part of a name of its own, not within a longer word."""
    return re.compile(rf"(?<![^_.]){re.escape(full.replace('.', '_'))}(?![^_.])")


@cache
def shipped() -> Renames:
    """The alias map of this package. Raises UsageError when it is broken."""
    return read(resources.files("conformance").joinpath("renames.toml").read_text(encoding="utf-8"))


def read(text: str) -> Renames:
    """An alias map as TOML. Raises UsageError for an unknown section, and for two old names of one new one."""
    found = tomllib.loads(text)
    known = {each.name for each in fields(Renames)}
    for section, names in found.items():
        if section not in known:
            raise UsageError(f"renames.toml has a section {section!r}: it may have {', '.join(sorted(known))}")
        if len(set(names.values())) != len(names):
            raise UsageError(f"renames.toml gives two old names one new one in {section!r}: each may appear once")
    return Renames(**found)
