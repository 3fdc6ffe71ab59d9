"""What a run adds to the shipped entries: files of the user's, probing, and the day by which entries expire.

It travels in variables, so that every process of a run, pytest's workers included, decides alike.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Final

from conformance.errors import UsageError
from conformance.expectations import files
from conformance.expectations.coverage import Coverage
from conformance.expectations.entries import Conditions
from conformance.expectations.files import Written

FILES: Final = "CONFORMANCE_EXPECTATIONS"
PROBE: Final = "CONFORMANCE_PROBE_COVERAGE"
DAY: Final = "CONFORMANCE_EXPECTATIONS_DAY"

_FACTS: Final = {"files": "expectations.files", "probe": "expectations.probe", "day": "expectations.day"}
"""Names in a run's environment."""
_YES: Final = "yes"
_NO: Final = "no"


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """Files that stand before the shipped one, in order; whether skips are probed; the day, None for the present."""

    files: tuple[Path, ...] = ()
    probe: bool = False
    day: date | None = None

    @classmethod
    def of_environment(cls, variables: Mapping[str, str] | None = None) -> "Chosen":
        """From the variables of this process. Raises UsageError for a day that is none."""
        given = os.environ if variables is None else variables
        named = [each for each in given.get(FILES, "").split(os.pathsep) if each.strip()]
        return cls(
            files=tuple(Path(each).absolute() for each in named), probe=_is_yes(given.get(PROBE, "")),
            day=_day(given.get(DAY, "")),
        )  # fmt: skip

    @classmethod
    def of_facts(cls, facts: Mapping[str, str]) -> "Chosen":
        """From what `facts` gave for a run's record."""
        named = facts.get(_FACTS["files"], "")
        return cls(
            files=tuple(map(Path, named.split(os.pathsep))) if named else (),
            probe=facts.get(_FACTS["probe"]) == _YES, day=_day(facts.get(_FACTS["day"], "")),
        )  # fmt: skip

    def variables(self) -> dict[str, str]:
        """For the processes of a run."""
        return {
            FILES: os.pathsep.join(map(str, self.files)), PROBE: "1" if self.probe else "",
            DAY: str(self.day) if self.day else "",
        }  # fmt: skip

    def facts(self) -> dict[str, str]:
        """For a run's record, to which `of_facts` is the way back."""
        return {
            _FACTS["files"]: os.pathsep.join(map(str, self.files)), _FACTS["probe"]: _YES if self.probe else _NO,
            _FACTS["day"]: str(self.day or files.today()),
        }  # fmt: skip

    def digest(self) -> str:
        """A hash over the files' contents and whether skips are probed: equal for runs that were told the same."""
        whole = hashlib.blake2b(_YES.encode() if self.probe else b"", digest_size=8)
        for path in self.files:
            whole.update(hashlib.blake2b(files.read(path)).digest())
        return whole.hexdigest()

    def paths(self, target: str) -> tuple[Path, ...]:
        """Every file in force for a target, those that stand first before the others."""
        own = files.shipped(target)
        return self.files if own is None else (*self.files, own)


def _is_yes(text: str) -> bool:
    return text.strip().lower() not in ("", "0", "no", "false")


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise UsageError(f"{DAY} is {text!r}: give a day such as 2026-12-01") from None


def load(target: str, release: str, chosen: Chosen | None = None) -> Coverage:
    """The coverage of a target's release, with what this process was told beside it.

    Empty for a target without a file. Raises UsageError for a broken file or an id that two entries have.
    """
    told = Chosen.of_environment() if chosen is None else chosen
    stamps = tuple((path, files.stamp(path)) for path in told.paths(target))
    return _loaded(stamps, files.conditions(release, day=told.day), told.probe)


@lru_cache(maxsize=16)
def _loaded(stamps: tuple[tuple[Path, tuple[int, int]], ...], found: Conditions, probe: bool) -> Coverage:
    return files.in_force(entries_of(stamps), found, probe=probe)


def entries_of(stamps: tuple[tuple[Path, tuple[int, int]], ...]) -> list[Written]:
    """Every entry of some files. Raises UsageError for a broken file or an id that two entries have."""
    entries = [each for path, stamp in stamps for each in files.parsed(path, stamp)]
    files.require_own_ids(entries)
    return entries


def written(target: str, chosen: Chosen) -> list[Written]:
    """Every entry of the files in force for a target, whether it holds or not."""
    return entries_of(tuple((path, files.stamp(path)) for path in chosen.paths(target)))


def of_file(path: Path, release: str, *, torch: str | None = None, day: date | None = None) -> Coverage:
    """The entries of one file that hold. Raises UsageError with the file and the entry that is wrong."""
    entries = files.parse(path, files.read(path))
    files.require_own_ids(entries)
    return files.in_force(entries, files.conditions(release, torch=torch, day=day))
