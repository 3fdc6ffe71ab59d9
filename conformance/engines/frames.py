"""Messages between an engine and its fork server: a length of four bytes, then JSON."""

import socket
import struct
from collections.abc import Iterator

import msgspec

_LENGTH = struct.Struct("!I")


class Start(msgspec.Struct, frozen=True, tag="start"):
    """Fork a child for this job, once `modules` are imported too."""

    id: int
    job: msgspec.Raw
    modules: tuple[str, ...] = ()


class Signal(msgspec.Struct, frozen=True, tag="signal"):
    """Send a signal to a child."""

    id: int
    number: int


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The modules are imported."""


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The modules cannot be imported."""

    why: str


class Started(msgspec.Struct, frozen=True, tag="started"):
    """A child lives."""

    id: int
    pid: int


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """A child ended; `status` is a wait status."""

    id: int
    status: int


Request = Start | Signal
Event = Ready | Refused | Started | Ended

request_decoder: "msgspec.json.Decoder[Request]" = msgspec.json.Decoder(Request)
event_decoder: "msgspec.json.Decoder[Event]" = msgspec.json.Decoder(Event)


def frame(message: Request | Event) -> bytes:
    """A message as bytes to send."""
    body = msgspec.json.encode(message)
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Reads whole messages from a socket."""

    def __init__(self, source: socket.socket) -> None:
        self._source = source
        self._held = bytearray()
        self.ended = False

    def read(self) -> Iterator[bytes]:
        """Receive once, then give every message that is whole. Sets `ended` at the end of the stream."""
        try:
            data = self._source.recv(1 << 20)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        self.ended = not data
        self._held += data
        while len(self._held) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._held)
            if len(self._held) < _LENGTH.size + size:
                return
            yield bytes(self._held[_LENGTH.size : _LENGTH.size + size])
            del self._held[: _LENGTH.size + size]
