"""The command `conformance serve`."""

import contextlib
import errno
import gc
import logging
import signal
import socket
import sys

import click
import uvicorn

from conformance.errors import UsageError
from conformance.store import Store, catalogue, open_store


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for all.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
def serve(host: str, port: int) -> None:
    """Open the dashboard until Ctrl-C.

    Example: conformance serve --port 8080
    """
    with listen(host, port) as listening, open_store() as store:
        from web.app import create

        _settle(store)
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"dashboard on http://{shown}:{listening.getsockname()[1]}/ (Ctrl-C ends it)", err=True)
        config = uvicorn.Config(
            create(store), log_level=logging.WARNING, access_log=False, server_header=False, workers=1,
            timeout_graceful_shutdown=3,
        )  # fmt: skip
        _until_told(uvicorn.Server(config), listening)


def _settle(store: Store) -> None:
    """Load what every page needs, then keep the collector away from it: it never becomes garbage."""
    catalogue(store)
    gc.collect()
    gc.freeze()


def _until_told(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM, both of which are how a server is meant to end."""
    # uvicorn raises the signal again once it has shut down; by default that would end us before the store is closed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises UsageError for a host or port that cannot be had."""
    try:
        (family, _, _, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise UsageError(f"--host {host!r} is no address of this machine: {error.strerror}") from error
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"port {port} is in use: choose another with --port, or 0 for a free one") from error
        raise UsageError(f"cannot listen on {host} port {port}: {error.strerror}") from error
    return listening
