"""A session of tests leaves the machine as it was: its processes end, and no test gets at your store or home."""

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.settings import DATABASE, HOME

MARK = "NC_TEST_SESSION"
"""Every process that a session starts inherits this variable, whoever its parent is by then."""

NOWHERE = "postgresql://nobody@127.0.0.1:1/a-test-has-to-ask-for-a-database"
"""No server answers here: a test that forgets to name a database fails, instead of starting a server of its own."""

_OF_THE_INTERPRETER = (b"multiprocessing.forkserver", b"multiprocessing.resource_tracker")
"""They end by themselves with the process that started them."""
_PATIENCE = 10.0


@pytest.fixture(scope="session", autouse=True)
def nothing_left_behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail when a process of the session outlives it; a session inside a session leaves that to the outer one."""
    if MARK in os.environ:
        yield
        return
    mark = uuid.uuid4().hex
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, mark)
        patch.setenv(DATABASE, NOWHERE)
        patch.setenv(HOME, str(tmp_path_factory.mktemp("home")))
        yield
    assert not survivors(mark)


def survivors(mark: str, patience: float = _PATIENCE) -> list[str]:
    """Command lines of the processes with this mark that still live after so many seconds."""
    until = time.monotonic() + patience
    while (found := _marked(f"{MARK}={mark}".encode())) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def _marked(variable: bytes) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if variable not in (process / "environ").read_bytes().split(b"\0"):
                continue
            command = (process / "cmdline").read_bytes()
        except OSError:  # ended meanwhile, or somebody else's
            continue
        if not any(each in command for each in _OF_THE_INTERPRETER):
            found.append(f"{process.name}: {command.replace(bytes(1), b' ').decode(errors='replace')[:200]}")
    return found
