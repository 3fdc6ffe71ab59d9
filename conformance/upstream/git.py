"""git, called so that it asks nobody, runs nothing of the repository's own, and says what went wrong in one line."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

from conformance.errors import UsageError

_QUIET: Final = (
    "--no-optional-locks",  # asking must not write to the user's index
    *("-c", "safe.directory=*"),  # a checkout of another user is read, not obeyed: see the next two
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "advice.detachedHead=false", "-c", "gc.auto=0"),
    *("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60"),  # a stalled transfer ends after a minute
)
_LOCATIONS: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
"""Variables with which git, inside a hook, would look at another repository than the one named."""
_LONGEST: Final = 8_192
"""Bytes kept of what git says, from its end."""


class GitError(Exception):
    """git refused; the text is the last thing it said."""


def ask(root: Path, *arguments: str) -> str:
    """What git answers about a checkout, which is not changed and not completed from its remote.

    Raises GitError, and UsageError without git.
    """
    return run(root, *arguments, variables={"GIT_NO_LAZY_FETCH": "1"})


def run(
    root: Path,
    *arguments: str,
    show: Callable[[bytes], None] | None = None,
    variables: dict[str, str] | None = None,
) -> str:
    """Run git in a folder; `show` is given what it writes on stderr as it comes. Raises GitError, UsageError."""
    try:
        process = subprocess.Popen(
            ["git", *_QUIET, "-C", str(root), *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment(variables or {}),
        )  # fmt: skip
    except FileNotFoundError:
        raise UsageError("git is not installed: install it (Debian: apt-get install git)") from None
    with process:
        return _finished(process, show)


def _finished(process: "subprocess.Popen[bytes]", show: Callable[[bytes], None] | None) -> str:
    try:
        # With progress shown git writes nothing on stdout that could fill the pipe meanwhile.
        said = _follow(process, show) if show is not None else b""
        out, rest = process.communicate()
    except BaseException:
        process.kill()
        raise
    if process.returncode:
        raise GitError(_last_line(said + rest))
    return out.decode("utf-8", "surrogateescape")


def _follow(process: "subprocess.Popen[bytes]", show: Callable[[bytes], None]) -> bytes:
    assert process.stderr is not None
    said, number = b"", process.stderr.fileno()
    while new := os.read(number, 4_096):
        said = (said + new)[-_LONGEST:]
        show(new)
    return said


def _last_line(said: bytes) -> str:
    lines = [line.strip() for line in said.decode("utf-8", "replace").replace("\r", "\n").splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (told or lines or ["git gave no reason"])[0 if told else -1].removeprefix("fatal: ").removeprefix("error: ")


def _environment(variables: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _LOCATIONS}
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **variables}
