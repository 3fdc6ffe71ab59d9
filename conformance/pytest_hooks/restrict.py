"""Have PyTorch make only the tests of a shard when a file is imported: test_ops.py alone has 31,000.

Left out are whole test functions, and of those made once an OpInfo the ops and dtypes that nobody asked for. What is
made is made by PyTorch as ever. In doubt a test is made; one that is missed all the same is looked for without this.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from conformance.outcomes import TestId
from conformance.pytest_hooks.identity import class_without_device, dtype_words


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What to make, by generic class: beginnings of names up to an underscore, and dtypes by op."""

    device: str
    beginnings: dict[str, set[str]] = field(default_factory=dict)
    dtypes: dict[str, dict[str, set[str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, tests: Iterable[TestId], device: str) -> "Wanted":
        """Everything that any of the tests may need."""
        found = cls(device=device)
        for test in tests:
            full = f"{test.op}.{test.variant}" if test.variant else test.op
            # A class within a class is known to PyTorch by its own name alone.
            for name in {test.cls, test.cls.rpartition(".")[2]}:
                found.beginnings.setdefault(name, set()).update(_beginnings(test.name))
                found.dtypes.setdefault(name, {}).setdefault(full, set()).add(test.dtype)
        return found

    def function(self, generic: type, name: str) -> bool:
        """Whether a test function of a generic class has a test to be made."""
        return name in self.beginnings.get(self._class(generic), ())

    def op(self, generic: type, op: Any) -> bool:
        """Whether an op has a test in a generic class."""
        return op.full_name in self.dtypes.get(self._class(generic), ())

    def pair(self, generic: type, op: Any, given: dict[str, Any]) -> bool:
        """Whether an op has a test with one of the dtypes given."""
        wanted = self.dtypes[self._class(generic)][op.full_name]
        # A test of several dtypes has them all in one word; that one is part of it is enough.
        return all(any(word in each for each in wanted) for word in dtype_words(given))

    def _class(self, generic: type) -> str:
        return class_without_device(f"{generic.__name__}{self.device.upper()}", self.device)


def _beginnings(name: str) -> Iterator[str]:
    yield name
    place = name.find("_")
    while place >= 0:
        yield name[:place]
        place = name.find("_", place + 1)


@contextmanager
def restricted(wanted: Wanted) -> Iterator[None]:
    """While this holds, PyTorch makes what is wanted and little else."""
    from torch.testing._internal import common_device_type as harness

    base, ops = harness.DeviceTypeTestBase, harness.ops
    instantiate, parametrize = base.__dict__["instantiate_test"], ops._parametrize_test

    def instantiate_test(cls: Any, name: str, test: Any, *, generic_cls: Any = None) -> None:
        if generic_cls is None or wanted.function(generic_cls, name):
            instantiate.__func__(cls, name, test, generic_cls=generic_cls)

    def _parametrize_test(self: Any, test: Any, generic_cls: Any, device_cls: Any) -> Iterator[Any]:
        before = self.op_list
        self.op_list = [each for each in before if wanted.op(generic_cls, each)]
        try:
            # PyTorch takes an empty list for a mistake of the test's, which it is where it was empty before.
            if self.op_list or not before:
                for each in parametrize(self, test, generic_cls, device_cls):
                    if wanted.pair(generic_cls, each[2]["op"], each[2]):
                        yield each
        finally:
            self.op_list = before

    base.instantiate_test = classmethod(instantiate_test)
    ops._parametrize_test = _parametrize_test
    try:
        yield
    finally:
        base.instantiate_test = instantiate
        ops._parametrize_test = parametrize
