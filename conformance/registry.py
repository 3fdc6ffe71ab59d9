"""Targets and suites by name: the shipped ones, and those of other packages by entry point."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points

from conformance.errors import UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class Registry:
    """Names to modules. `what` is the word for messages, `shipped` ours, `group` the entry point group of others."""

    what: str
    shipped: Mapping[str, str]
    group: str

    def names(self) -> tuple[str, ...]:
        """All names, ours first."""
        return (*self.shipped, *sorted(entry_points(group=self.group).names))

    def module_of(self, name: str) -> str:
        """The module of that name. Raises UsageError for an unknown one."""
        if name in self.shipped:
            return self.shipped[name]
        for each in entry_points(group=self.group, name=name):
            return each.value
        raise UsageError(f"unknown {self.what} {name!r}: choose one of {', '.join(self.names())}")
