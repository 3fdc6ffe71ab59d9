"""Injected faults: wrong numbers, errors, crashes, hangs, a poisoned device, a busy core, a slow compiler.

Off unless CONFORMANCE_SIM_FAULTS names a TOML file. What must outlive a process (attempts counted, the device being
poisoned) is kept in the folder that CONFORMANCE_SIM_STATE names.
"""

import ctypes
import fcntl
import os
import signal
import time
import tomllib
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from conformance.errors import UsageError
from conformance.simulator import library
from conformance.simulator.table import DTYPE_BITS, bits

if TYPE_CHECKING:
    from torch.fx import GraphModule

FAULTS: Final = "CONFORMANCE_SIM_FAULTS"
STATE: Final = "CONFORMANCE_SIM_STATE"
RESET_CORES: Final = "NEURON_RT_RESET_CORES"

KINDS: Final = ("wrong", "error", "crash", "hang", "poison", "busy", "slow_compile")
_NEEDS_STATE: Final = ("poison",)
_BUSY: Final = "NRT:nrt_allocate_neuron_cores Logical Neuron Core(s) not available - requested:1 (cores busy, ret=-16)"
_POISONED: Final = "nrt_execute failed: NRT_STATUS=101 (NRT_EXEC_UNIT_UNRECOVERABLE): poisoned until it is reset"


class Reply(IntEnum):
    """What the library is to do with the op at hand. The numbers are shared with src/policy.h."""

    NONE = 0
    WRONG = 1
    ERROR = 2
    CRASH = 3
    HANG = 4


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fault. `on`: every attempt (always), or the 1st, 3rd, … (odd) or 2nd, 4th, … (even) between two clearings.

    `op` is a base name ("" for every op), `seconds` is for hang and slow_compile, `signal` for crash, `text` for
    error; `times` bounds how often it strikes (0: no bound), counted over all processes.
    """

    kind: str
    op: str = ""
    dtypes: tuple[str, ...] = ()
    on: str = "always"
    times: int = 0
    signal: str = "SIGSEGV"
    seconds: float = 3600.0
    text: str = "injected fault"

    @property
    def counted(self) -> bool:
        """Whether it needs the state folder."""
        return self.on != "always" or self.times > 0 or self.kind in _NEEDS_STATE


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fault file as written."""

    fault: tuple[Fault, ...]


@dataclass(slots=True)
class _State:
    faults: tuple[Fault, ...] = ()
    folder: Path | None = None
    hook: object = None
    attempt: int = 0
    struck: dict[tuple[int, int], tuple[int, bool]] = field(default_factory=dict)


_STATE: Final = _State()


def read(path: Path) -> tuple[Fault, ...]:
    """Read and check a fault file. Raises UsageError with the file and the entry that is wrong."""
    try:
        faults = msgspec.convert(tomllib.loads(path.read_text()), File).fault
    except OSError as error:
        raise UsageError(f"the fault file {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(f"the fault file {path} is broken: {error}") from error
    for number, fault in enumerate(faults, 1):
        _check(f"fault {number} of {path}", fault)
    return faults


def _check(where: str, fault: Fault) -> None:
    choices = {
        "kind": (fault.kind, KINDS),
        "on": (fault.on, ("always", "odd", "even")),
        "signal": (fault.signal, tuple(signal.Signals.__members__)),
        **{f"dtypes[{i}]": (each, tuple(DTYPE_BITS)) for i, each in enumerate(fault.dtypes)},
    }
    for name, (value, known) in choices.items():
        if value not in known:
            raise UsageError(f"{where} has the unknown {name} {value!r}: choose one of {', '.join(known)}")


def start(loaded: library.Library) -> None:
    """Read the environment and arm the faults; without any, ops are not slowed. Raises RuntimeError for a busy core."""
    path, folder = os.environ.get(FAULTS), os.environ.get(STATE)
    _STATE.faults = read(Path(path)) if path else ()
    _STATE.folder = Path(folder) if folder else None
    _STATE.struck.clear()
    if not folder and any(fault.counted for fault in _STATE.faults):
        raise UsageError(f"the fault file {path} counts attempts or poisons the device: set {STATE} to a folder")
    if os.environ.get(RESET_CORES) == "1":
        reset()
    hook = library.HOOK(_on_op) if _STATE.faults else library.HOOK(0)
    loaded.call("hook", hook)
    _STATE.hook = hook  # kept: the library holds its address, and held the last one's until now
    if any(_strikes(number, fault, 0) for number, fault in _of_kind("busy")):
        raise RuntimeError(_BUSY)


def next_attempt() -> None:
    """A new attempt begins: `odd` and `even` faults count it when they next match."""
    _STATE.attempt += 1


def is_poisoned() -> bool:
    """Whether an op poisoned the device and nobody reset it since."""
    return bool(_STATE.faults) and _STATE.folder is not None and (_STATE.folder / "poisoned").exists()


def raise_if_poisoned() -> None:
    """Raise RuntimeError with the runtime's text when the device is poisoned."""
    if is_poisoned():
        raise RuntimeError(_POISONED)


def reset() -> None:
    """Bring a poisoned device back."""
    if _STATE.folder is not None:
        (_STATE.folder / "poisoned").unlink(missing_ok=True)


def before_compiling(module: "GraphModule") -> None:
    """Spend the seconds of a slow_compile fault that matches an op of the graph."""
    from conformance.simulator.compiler import base_name

    names = {base_name(node) for node in module.graph.nodes if node.op == "call_function"}
    for number, fault in _of_kind("slow_compile"):
        if (not fault.op or fault.op in names) and _strikes(number, fault, 0):
            time.sleep(fault.seconds)


def _of_kind(kind: str) -> list[tuple[int, Fault]]:
    return [(number, fault) for number, fault in enumerate(_STATE.faults) if fault.kind == kind]


def _on_op(op: bytes, dtypes: int, amount: "ctypes._Pointer[ctypes.c_double]", text: int, room: int) -> int:
    """The library's hook. Must not raise: what it cannot do becomes an error of the op."""
    try:
        reply, number, message = _reply(op.decode(), dtypes)
    except OSError as error:
        reply, number, message = Reply.ERROR, 0.0, f"the state of the injected faults cannot be kept: {error}"
    amount[0] = number
    encoded = message.encode()[: room - 1]
    ctypes.memmove(text, encoded + b"\0", len(encoded) + 1)
    return int(reply)


def _reply(op: str, dtypes: int) -> tuple[Reply, float, str]:
    if is_poisoned():
        return Reply.ERROR, 0.0, _POISONED
    for number, fault in enumerate(_STATE.faults):
        if fault.kind in ("busy", "slow_compile") or (fault.op and fault.op != op):
            continue
        if (not fault.dtypes or bits(fault.dtypes) & dtypes) and _strikes(number, fault, dtypes):
            return _strike(fault)
    return Reply.NONE, 0.0, ""


def _strike(fault: Fault) -> tuple[Reply, float, str]:
    match fault.kind:
        case "wrong":
            return Reply.WRONG, 0.0, ""
        case "crash":
            return Reply.CRASH, float(signal.Signals[fault.signal]), ""
        case "hang":
            return Reply.HANG, fault.seconds, ""
        case "poison":
            assert _STATE.folder is not None
            (_STATE.folder / "poisoned").write_text(_POISONED)
            return Reply.ERROR, 0.0, _POISONED
        case _:
            return Reply.ERROR, 0.0, fault.text


def _strikes(number: int, fault: Fault, dtypes: int) -> bool:
    """Whether a fault that matches strikes: decided once an attempt, so that all ops of it meet the same device."""
    if not fault.counted:
        return True
    seen, strikes = _STATE.struck.get((number, dtypes), (-1, False))
    if seen != _STATE.attempt or fault.kind == "busy":
        strikes = _count(number, fault, dtypes)
        _STATE.struck[(number, dtypes)] = (_STATE.attempt, strikes)
    return strikes


def _count(number: int, fault: Fault, dtypes: int) -> bool:
    attempt = _increment(f"attempts-{number}-{dtypes:x}")
    if fault.on != "always" and attempt % 2 != (fault.on == "odd"):
        return False
    return not fault.times or _increment(f"strikes-{number}") <= fault.times


def _increment(name: str) -> int:
    """Count in a file, under its lock, over all processes."""
    assert _STATE.folder is not None
    _STATE.folder.mkdir(parents=True, exist_ok=True)
    with (_STATE.folder / name).open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        counted = int(file.read() or "0") + 1
        file.truncate(0)
        file.write(str(counted))
    return counted
