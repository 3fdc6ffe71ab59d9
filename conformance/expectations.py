"""Coverage files: what a backend does not claim, and what is known to fail. Entries match exactly."""

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from conformance.errors import UsageError
from conformance.outcomes import Outcome, TestId
from conformance.plan import Decision, Expected

_FOLDER: Final = Path(__file__).parent / "coverage"
_FILES: Final = {"trn2": "neuron.toml", "trn3": "neuron.toml"}


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One exclusion or expectation. A test matches when each list that is not empty has its part, exactly.

    `ops` are op names with or without the variant (`linalg.lu` or `linalg.norm.subgradients_at_zero`), `variants`
    are of OpInfo, `releases` none means all.
    """

    id: str
    reason: str
    ops: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()

    def matches(self, test: TestId) -> bool:
        """Whether this entry speaks of the test."""
        full = f"{test.op}.{test.variant}" if test.variant else test.op
        return (
            (not self.ops or test.op in self.ops or full in self.ops)
            and (not self.variants or test.variant in self.variants)
            and (not self.dtypes or test.dtype in self.dtypes)
            and (not self.kinds or test.kind in self.kinds)
        )


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A coverage file as written: `skip` is what is not claimed, `expect` what is known to fail."""

    skip: tuple[Entry, ...] = ()
    expect: tuple[Entry, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The entries of one file that hold for one release."""

    skips: tuple[Entry, ...] = ()
    expects: tuple[Entry, ...] = ()

    def decide(self, test: TestId) -> Decision | None:
        """The skip of a test that the backend does not claim; None when it claims it."""
        entry = self._skips.first(test)
        if entry is None:
            return None
        return Decision(outcome=Outcome.SKIP_COVERAGE, rule=f"coverage:{entry.id}", reason=entry.reason)

    def expect(self, test: TestId) -> Expected | None:
        """The failure that is foreseen for a test; None when none is."""
        entry = self._expects.first(test)
        return None if entry is None else Expected(rule=f"expect:{entry.id}", reason=entry.reason)

    def dead(self, tests: Iterable[TestId]) -> tuple[str, ...]:
        """Ids of the entries that match none of the tests: a typing error, or an op that is gone."""
        left = {entry.id: entry for entry in (*self.skips, *self.expects)}
        for test in tests:
            for entry in [each for each in left.values() if each.matches(test)]:
                del left[entry.id]
        return tuple(left)

    @cached_property
    def _skips(self) -> "_Index":
        return _Index(self.skips)

    @cached_property
    def _expects(self) -> "_Index":
        return _Index(self.expects)


class _Index:
    """Entries by op, so that a plan of tens of thousands of tests stays quick."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self._by_op: dict[str, list[tuple[int, Entry]]] = {}
        for number, entry in enumerate(entries):
            for op in entry.ops or ("",):
                self._by_op.setdefault(op, []).append((number, entry))

    def first(self, test: TestId) -> Entry | None:
        """The matching entry that is written first."""
        found = [(number, entry) for number, entry in self._candidates(test) if entry.matches(test)]
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def _candidates(self, test: TestId) -> Iterator[tuple[int, Entry]]:
        for op in {"", test.op, f"{test.op}.{test.variant}"}:
            yield from self._by_op.get(op, ())


def load(target: str, release: str) -> Coverage:
    """The coverage of a target's release; empty for a target without a file. Raises UsageError for a broken file."""
    path = _FOLDER / _FILES.get(target, f"{target}.toml")
    return of_file(path, release) if path.exists() else Coverage()


def of_file(path: Path, release: str) -> Coverage:
    """The entries of a file that hold for a release. Raises UsageError with the file and the entry that is wrong."""
    try:
        file = msgspec.convert(tomllib.loads(path.read_text()), File)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(f"the coverage file {path} is broken: {error}") from error
    _lint(path, (*file.skip, *file.expect))
    return Coverage(
        skips=tuple(each for each in file.skip if not each.releases or release in each.releases),
        expects=tuple(each for each in file.expect if not each.releases or release in each.releases),
    )


def _lint(path: Path, entries: tuple[Entry, ...]) -> None:
    seen = set[str]()
    for entry in entries:
        if entry.id in seen:
            raise UsageError(f"the coverage file {path} has the id {entry.id!r} twice: give each entry its own")
        if not entry.reason.strip():
            raise UsageError(f"entry {entry.id!r} of the coverage file {path} has an empty reason: say why")
        if not (entry.ops or entry.variants or entry.dtypes or entry.kinds):
            raise UsageError(
                f"entry {entry.id!r} of the coverage file {path} matches every test: name what it is about"
            )
        seen.add(entry.id)
