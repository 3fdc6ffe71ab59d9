"""The command that runs one test alone, safe to paste into a shell whatever the test is called."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from conformance.outcomes import TestId
from conformance.plan import UPSTREAM, Selection


def command(key: str, target: str, release: str, files: Iterable[str] = ()) -> str:
    """`conformance repro …` for a test of a run; `files` are those that the run was given by path."""
    words = ["conformance", "repro", key, "--target", target, "--release", release]
    words += [word for each in files for word in ("--tests", each)]
    return " ".join(shell_word(each) for each in words)


def files_of(test: TestId, selection: Selection) -> Sequence[str]:
    """The file that a run was given for a test of suite upstream, else all that might have it; PyTorch's need none."""
    if test.suite != UPSTREAM:
        return ()
    given = [each.partition("::")[0] for each in selection.tests if each not in selection.files]
    named = [each for each in given if _is_file(each, test.file)]
    return tuple(dict.fromkeys(named or given))


def _is_file(path: str, file: str) -> bool:
    wanted, found = PurePosixPath(path).with_suffix("").parts, PurePosixPath(file).parts
    return wanted[-len(found) :] == found[-len(wanted) :]


def shell_word(text: str) -> str:
    """The text as one word of bash; what cannot be seen is written as an escape, so that a copy is faithful."""
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(_escaped(each) for each in text) + "'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
