"""The formats: each file is read without running anything of it, whatever it holds."""

import ast
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.errors import UsageError
from conformance.expectations.files import one_line
from conformance.expectations.writing import many

_LINUX: Final = "linux"


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """One line of somebody's list: the test as they write it, why, and where it is discussed.

    `file` is the test file that it is for, as written, "" where the name tells it or nobody does. `pattern`: it stands
    for every test of the file whose name has it as a part.
    """

    name: str
    reason: str = ""
    link: str = ""
    file: str = ""
    pattern: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class List:
    """A file as read. `left_out` are sentences about what it says that is not for us or cannot be read."""

    tests: tuple[Listed, ...]
    left_out: tuple[str, ...] = ()


def disabled_tests(data: bytes) -> List:
    """PyTorch's disabled-tests JSON: `{"test_x (__main__.TestC)": ["issue", "url", ["linux"]]}`.

    Ascend's has two parts, `["text", ["DTYPE"]]`. Entries for other platforms than Linux are left out. Raises
    UsageError for what is no such file.
    """
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the file is no disabled-tests JSON: {one_line(error)}") from error
    if not isinstance(found, dict):
        raise UsageError("the file is no disabled-tests JSON: it must be one object, test to issue")
    tests, other, odd = [], 0, 0
    for name, value in found.items():
        listed = _disabled(name, value)
        odd += listed is None
        if listed is not None and _for_linux(value):
            tests.append(listed)
        elif listed is not None:
            other += 1
    left = [(other, "for other platforms than Linux"), (odd, "whose value is not [issue, url, [platforms]]")]
    return List(
        tests=tuple(tests),
        left_out=tuple(f"{many(number, 'entry', 'entries')} {why}" for number, why in left if number),
    )


def _disabled(name: str, value: Any) -> Listed | None:
    if not isinstance(value, list) or not value or not all(isinstance(each, str | list) for each in value):
        return None
    texts = [each.strip() for each in value if isinstance(each, str) and each.strip()]
    links = [each for each in texts if each.startswith(("https://", "http://"))]
    words = [each for each in texts if each not in links and not each.isdecimal()]
    if not _has_platforms(value):
        words += [each for last in value if isinstance(last, list) for each in last if isinstance(each, str) and each]
    reason = "; ".join(words) or (f"disabled upstream: {links[0]}" if links else "")
    return Listed(name=name, reason=reason, link=links[0] if links else "")


def _has_platforms(value: list[Any]) -> bool:
    return len(value) >= 3 and isinstance(value[-1], list)


def _for_linux(value: list[Any]) -> bool:
    platforms = value[-1] if _has_platforms(value) else []
    return not platforms or any(isinstance(each, str) and each.strip().lower() == _LINUX for each in platforms)


def plain_list(data: bytes) -> List:
    """One test a line; what stands behind `#` is the reason, and a line of its own is one for nothing.

    Raises UsageError for bytes that are not UTF-8.
    """
    tests = []
    for line in _text(data).splitlines():
        name, _, remark = line.partition("#")
        if name.strip():
            tests.append(Listed(name=name.strip(), reason=remark.strip()))
    return List(tests=tuple(tests))


def skip_dict(data: bytes) -> List:
    """A Python file with `skip_dict = {"test_ops_xpu.py": ("part_of_a_name", …), "test_x.py": None}`.

    Parsed, never run: only literals are read. None skips nothing. Raises UsageError for what cannot be parsed or has
    no such dictionary.
    """
    try:
        tree = ast.parse(_text(data))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"the file is no Python that can be read: {one_line(error)}") from error
    found = [
        each.value
        for each in tree.body
        if isinstance(each, ast.Assign)
        and isinstance(each.value, ast.Dict)
        and any(isinstance(name, ast.Name) and name.id.startswith("skip_dict") for name in each.targets)
    ]
    if not found:
        raise UsageError("the file has no dictionary that is called skip_dict")
    pairs = [pair for each in found for pair in zip(each.keys, each.values, strict=True)]
    read = [(key, _patterns(value)) for key, value in ((_literal(key), value) for key, value in pairs)]
    tests = [
        Listed(name=name, file=key, pattern=True) for key, names in read if isinstance(key, str) for name in names or ()
    ]
    odd = sum(not isinstance(key, str) or names is None for key, names in read)
    left = (f"{many(odd, 'part')} not written as plain text and lists of it",) if odd else ()
    return List(tests=tuple(tests), left_out=left)


def _literal(node: ast.expr | None) -> object:
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _patterns(node: ast.expr) -> list[str] | None:
    """The names of one file; None for what cannot be read."""
    if isinstance(node, ast.Constant) and node.value is None:
        return []
    found = _literal(node)
    names = [found] if isinstance(found, str) else found
    if not isinstance(names, tuple | list | set) or not all(isinstance(each, str) for each in names):
        return None
    return [each for each in names if each.strip()]


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"the file is not UTF-8: {one_line(error)}") from error


FORMATS: Final[Mapping[str, Callable[[bytes], List]]] = {
    "disabled-tests": disabled_tests,
    "list": plain_list,
    "skip-dict": skip_dict,
}
"""Names of formats on the command line."""
