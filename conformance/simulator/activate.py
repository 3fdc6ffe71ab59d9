"""Start the simulated device in this process: register it with PyTorch and load a release's table."""

import os
from typing import Final

from conformance.errors import UsageError
from conformance.simulator import faults, library, table

ONLY_UNIMPLEMENTED: Final = "TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS"
DISABLE_FALLBACK: Final = "TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION"


def start(release: str) -> None:
    """Register the device `neuron`, load the table of a release, obey the environment's fallback variables and faults.

    A second call loads the table anew. Raises UsageError for an unknown release, a broken table or fault file, or a
    missing compiler; RuntimeError with the runtime's text when a fault says that the core is busy.
    """
    chosen = table.load(release)
    loaded = library.load()
    _register()
    faults.start(loaded)
    _apply(chosen, loaded)
    only_unimplemented, refuse_eager, refuse_compiled = _fallback_flags()
    loaded.call("fallback", only_unimplemented, refuse_eager, refuse_compiled)
    from conformance.simulator import compiler

    compiler.start(chosen, fallback=not refuse_compiled)


def _register() -> None:
    import torch
    from torch.utils import backend_registration

    from conformance.simulator import surface

    present = getattr(torch, "neuron", surface)
    if present is not surface:
        raise UsageError("another backend named neuron is loaded in this process: set TORCH_DEVICE_BACKEND_AUTOLOAD=0")
    if hasattr(torch, "neuron"):
        return
    backend_registration.rename_privateuse1_backend("neuron")
    torch._register_device_module("neuron", surface)  # type: ignore[no-untyped-call]
    backend_registration.generate_methods_for_privateuse1_backend()


def _apply(chosen: table.Table, loaded: library.Library) -> None:
    known = {_base(name) for name in loaded.names("known")}
    loaded.call("forget_rules")
    for op, dtypes, mode, text in chosen.rules():
        if op and op not in known:
            raise UsageError(
                f"the support table {table.path()} has an entry for {op!r}, which is no op that the device sees"
            )
        loaded.call("rule", op.encode(), dtypes, int(mode), text.encode())
    loaded.call("apply_rules")


def _base(name: str) -> str:
    base = name.partition("::")[2]
    return base if base.endswith("__") else base.removesuffix("_")


def effective_fallback() -> dict[str, str]:
    """The two fallback variables as they are in force, documented defaults filled in."""
    return {
        ONLY_UNIMPLEMENTED: os.environ.get(ONLY_UNIMPLEMENTED, "0"),
        DISABLE_FALLBACK: os.environ.get(DISABLE_FALLBACK, "compiled graphs only"),
    }


def _fallback_flags() -> tuple[int, int, int]:
    """For unimplemented ops only (default no), refused in eager (default no), in compiled graphs (default yes)."""
    only = os.environ.get(ONLY_UNIMPLEMENTED, "0").lower() in ("1", "true")
    disable = os.environ.get(DISABLE_FALLBACK, "").lower()
    return int(only), int(disable in ("1", "true")), int(disable not in ("0", "false"))
