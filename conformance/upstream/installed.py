"""The installed torch as its files tell it: version, and the commit it was built from. torch is not imported."""

import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

from conformance.errors import UsageError

_NUMBER: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")
_COMMIT: Final = re.compile(r"^git_version = ['\"]([0-9a-f]{40})['\"]$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Torch:
    """A build of torch: `version` as `2.13.0+cpu`; `commit` in full, "" when the build does not tell."""

    version: str
    commit: str = ""

    @property
    def number(self) -> str:
        """The release's number, `2.13.0`."""
        return number(self.version)

    @property
    def tag(self) -> str:
        """The tag that release has in PyTorch's repository; "" for a build before a release, which has none."""
        return "" if re.search(r"\d(a|\.dev)\d", self.version) else f"v{self.number}"


def installed() -> Torch:
    """The torch of this environment. Raises UsageError without one."""
    try:
        found = metadata.distribution("torch")
    except metadata.PackageNotFoundError:
        raise UsageError("torch is not installed in this environment: `make setup` installs it") from None
    return Torch(version=found.version, commit=_commit(Path(str(found.locate_file("torch/version.py")))))


def number(version: str) -> str:
    """A version without what follows its numbers: `2.13.0` of `2.13.0+cpu`, `v2.13.0-rc2` and `2.13`.

    Raises UsageError for a text that does not begin with a version.
    """
    match = _NUMBER.match(version.strip())
    if match is None:
        raise UsageError(f"{version[:40]!r} is not a version: one looks like 2.13.0")
    return f"{match[1]}.{match[2]}.{match[3] or 0}"


def _commit(path: Path) -> str:
    try:
        match = _COMMIT.search(path.read_text())
    except OSError:
        return ""
    return match[1] if match else ""
