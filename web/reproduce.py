"""The command that runs one test alone, safe to paste into a shell whatever the test is called."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from conformance.outcomes import TestId
from conformance.plan import FLEX, UPSTREAM, Selection, names_test


def command(key: str, target: str, release: str, places: Sequence[str] = ()) -> str:
    """`conformance repro …` for a test of a run; `places` are options of the run that it needs."""
    words = ["conformance", "repro", key, "--target", target, "--release", release, *places]
    return " ".join(shell_word(each) for each in words)


def places_of(test: TestId, selection: Selection, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Options of the run without which the test would be another one, or not be found.

    For a test of suite upstream where its file was: the tree of a run, else the files that it was given by path.
    """
    if test.suite == FLEX and selection.extend_flex_devices:
        return ("--extend-flex-devices",)
    if test.suite != UPSTREAM:
        return ()
    tree = environment.get("upstream.path", "")
    if tree and any(names_test(each, test) for each in selection.files):
        return ("--upstream", tree)
    given = [each.partition("::")[0] for each in selection.tests if each not in selection.files]
    named = [each for each in given if _is_file(each, test.file)]
    return tuple(word for each in dict.fromkeys(named or given) for word in ("--tests", each))


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
