"""The C functions of the built library, typed."""

import ctypes
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from conformance.simulator import build

ANY_DTYPE: Final = 2**64 - 1

HOOK: Final = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64, ctypes.POINTER(ctypes.c_double), ctypes.c_void_p, ctypes.c_int
)
"""Called before each op while faults are injected: op, dtype bits, amount out, text out, room for the text."""

_TEXT, _SIZE, _BITS, _NUMBER = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_int
_SIGNATURES: Final[dict[str, tuple[type | None, tuple[type, ...]]]] = {
    "clear": (None, ()),
    "executed": (_SIZE, (_TEXT, _SIZE)),
    "fell_back": (_SIZE, (_TEXT, _SIZE)),
    "known": (_SIZE, (_TEXT, _SIZE)),
    "forget_rules": (None, ()),
    "rule": (None, (_TEXT, _BITS, _NUMBER, _TEXT)),
    "apply_rules": (None, ()),
    "fallback": (None, (_NUMBER, _NUMBER, _NUMBER)),
    "compiled_region": (None, (_NUMBER,)),
    "hook": (None, (HOOK,)),
    "seed": (None, (_BITS,)),
    "initial_seed": (_BITS, ()),
    "get_rng_state": (_SIZE, (_TEXT, _SIZE)),
    "set_rng_state": (None, (_TEXT, _SIZE)),
}


class Library:
    """The loaded library. `call(name, …)` calls `neuronsim_<name>`."""

    def __init__(self, path: Path) -> None:
        self._functions: dict[str, Callable[..., int]] = {}
        loaded = ctypes.CDLL(str(path))
        for name, (result, arguments) in _SIGNATURES.items():
            function = loaded[f"neuronsim_{name}"]
            function.restype, function.argtypes = result, arguments
            self._functions[name] = function
        self._room = ctypes.create_string_buffer(4096)

    def call(self, name: str, *arguments: object) -> int:
        """Call one function; 0 for those that return nothing."""
        return self._functions[name](*arguments) or 0

    def names(self, which: str) -> frozenset[str]:
        """Op names from `executed`, `fell_back` or `known`."""
        return _names(self.bytes(which))

    def bytes(self, which: str) -> bytes:
        """The bytes that a function writes into a buffer, which grows when they do not fit."""
        while True:
            written = self.call(which, self._room, len(self._room))
            if written <= len(self._room):
                return ctypes.string_at(self._room, written)
            self._room = ctypes.create_string_buffer(written)


@lru_cache(maxsize=1024)
def _names(text: bytes) -> frozenset[str]:
    # The trackers are read around every call of an op, and mostly say what they said before.
    return frozenset(text.decode().split())


@cache
def load() -> Library:
    """The library, built when needed and loaded into this process after torch. Safe before a fork."""
    import torch

    del torch  # its shared libraries must be in the process first
    return Library(build.library())
