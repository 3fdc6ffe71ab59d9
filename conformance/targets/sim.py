"""Target `sim`: the simulated backend. Not hardware."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Final, cast

from conformance.inventory.overloads import Registration
from conformance.simulator import neff, table
from conformance.targets import Check, Device, Target
from conformance.targets.tracked import Namespace, TrackedDevice


@dataclass(frozen=True, kw_only=True, slots=True)
class Simulated:
    """The simulated backend as a target; its releases are those of the support table."""

    name: str = "sim"
    simulated: bool = True
    description: str = "SIMULATION on the CPU of a growing accelerator, by a support table; not Neuron hardware"

    def releases(self) -> tuple[str, ...]:
        """The simulated releases, newest last."""
        return table.releases()

    def checks(self) -> tuple[Check, ...]:
        """PyTorch and a C++ compiler."""
        compiler = any(shutil.which(name) for name in (os.environ.get("CXX"), "c++", "g++", "clang++") if name)
        return (
            Check(name="torch", present=find_spec("torch") is not None, remedy="install it: pip install torch"),
            Check(name="C++ compiler", present=compiler, remedy="install g++ or set CXX to a C++ compiler"),
        )

    def environment(self, release: str) -> Mapping[str, str]:
        """Keeps a real torch_neuronx, should one be installed, from claiming the device's name."""
        return {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}

    def compile_cache(self) -> str:
        """The folder that the simulated compiler uses."""
        return str(neff.folder())

    def activate(self, release: str) -> Device:
        """Register the simulated device under the table of a release."""
        from conformance.simulator import activate

        activate.start(release)
        from conformance.simulator import surface

        return TrackedDevice(
            backend=cast(Namespace, surface), facts=lambda: _facts(release), serves=_served(table.load(release))
        )


_SERVED: Final = {table.Mode.FALLBACK: Registration.FALLBACK, table.Mode.REFUSED: Registration.NONE}


def _served(chosen: table.Table) -> Mapping[str, Registration]:
    """Ops that the table has no kernel for, whatever the dtype. The library registers its one kernel for them too."""
    found = {op: _SERVED[mode] for op, mode in chosen.wholly().items() if mode in _SERVED}
    return {f"aten::{op}{ending}": word for op, word in found.items() for ending in ("", "_")}


def _facts(release: str) -> Mapping[str, str]:
    from conformance.simulator import activate

    return {
        "backend": "simulated",
        "release": release,
        "torch": version("torch"),
        "support table": table.load(release).digest[:12],
        **activate.effective_fallback(),
    }


def target(name: str) -> Target:
    """The target; `name` is always `sim`."""
    return Simulated(name=name)
