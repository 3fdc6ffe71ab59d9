"""Test files that a run was given by path: they must stay what they are until it is finished."""

import hashlib
from pathlib import Path

from conformance.plan import Selection
from conformance.upstream import choice


def files(selection: Selection) -> list[Path]:
    """The test files that were named by path; folders, and files of a PyTorch tree, are left out."""
    named = (choice.located(each).partition("::")[0] for each in selection.tests if each not in selection.files)
    return sorted({path for each in named if (path := Path(each)).is_file()})


def prints(selection: Selection) -> dict[str, str]:
    """What must be equal for a run to be resumed: the contents of such files, without their places."""
    found = files(selection)
    whole = hashlib.blake2b(b"".join(each.read_bytes() for each in found), digest_size=16).hexdigest()
    return {"test files": whole} if found else {}
