"""The command `conformance serve`: a real process, real signals."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from conformance.errors import UsageError
from tests.conftest import Command
from web.cli import listen

_PROGRAM = (sys.executable, "-c", "from conformance.cli import main; main()", "serve")


@contextmanager
def served(database_url: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A serving process and its URL."""
    process = subprocess.Popen(
        [*_PROGRAM, *options], stderr=subprocess.PIPE, text=True, env={**os.environ, "DATABASE_URL": database_url}
    )
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        assert said.startswith("dashboard on http://"), said + process.stderr.read()
        yield process, said.split()[2]
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_is_serves_and_ends_in_good_order(database_url: str, number: signal.Signals) -> None:
    with served(database_url, "--port", "0") as (process, url):
        assert httpx.get(f"{url}readyz").text == "ready\n"
        assert httpx.get(url, follow_redirects=True).status_code == 200
        process.send_signal(number)
        assert process.wait(10) == 0


def test_a_port_in_use_is_one_sentence(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = command("serve", "--port", str(port))
    assert said.code == 2
    assert f"port {port} is in use: choose another with --port" in said.err
    assert len(said.err.splitlines()) == 1


def test_an_address_of_another_machine_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="cannot listen on 192\\.0\\.2\\.1"):
        listen("192.0.2.1", 0)
    with pytest.raises(UsageError, match="no address of this machine"):
        listen("no such host", 0)


def test_a_database_that_is_down_is_one_sentence(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody:secret@127.0.0.1:1/none")
    said = command("serve", "--port", "0")
    assert said.code == 4
    assert len(said.err.splitlines()) == 1
    assert "secret" not in said.err


def test_help_shows_an_example(command: Command) -> None:
    said = command("serve", "--help")
    assert said.code == 0
    assert "Example: conformance serve" in said.out


def test_the_port_is_free_again_at_once() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            time.sleep(0.05)
    listen("127.0.0.1", port).close()
