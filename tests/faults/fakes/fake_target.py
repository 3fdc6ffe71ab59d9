"""A device without torch, as sick as the files in the folder FAKE_STATE say."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.outcomes import Reached
from conformance.targets import Check, Compiled

STATE = "FAKE_STATE"


def state() -> Path:
    return Path(os.environ[STATE])


@dataclass
class FakeDevice:
    device: str = "fake"
    compile_backend: str = "fake"
    tracks: bool = True

    def clear(self) -> None: ...

    def synchronize(self) -> None: ...

    def executed_ops(self) -> frozenset[str]:
        return frozenset({"aten::add"})

    def fallback_ops(self) -> frozenset[str]:
        return frozenset()

    def reached(self) -> Reached:
        return Reached(executed=self.executed_ops(), fallback=self.fallback_ops())

    def compiled(self) -> tuple[Compiled, ...]:
        return ()

    def probe(self) -> str | None:
        return "execution unit unrecoverable, NRT_STATUS=101" if (state() / "poisoned").exists() else None

    def environment(self) -> Mapping[str, str]:
        version = state() / "version"
        return {"driver": version.read_text() if version.exists() else "1"}


@dataclass(frozen=True)
class FakeTarget:
    name: str
    simulated: bool = True
    description: str = "a fake"

    def releases(self) -> tuple[str, ...]:
        return ("fake-1", "fake-2")

    def checks(self) -> tuple[Check, ...]:
        return (Check(name="nothing", present=True),)

    def environment(self, release: str) -> Mapping[str, str]:
        return {"FAKE_RELEASE": release}

    def compile_cache(self) -> str:
        return str(state() / "cache")

    def activate(self, release: str) -> FakeDevice:
        if os.environ.get("NEURON_RT_RESET_CORES") == "1" and not (state() / "broken").exists():
            (state() / "poisoned").unlink(missing_ok=True)
        core = os.environ.get("NEURON_RT_VISIBLE_CORES", "")
        with (state() / "activations").open("a") as file:
            file.write(f"{core}\n")
        if (state() / f"busy-{core}").exists():
            raise RuntimeError(
                f"NRT:nrt_allocate_neuron_cores Logical Neuron Core(s) not available {core} (cores busy, ret=-16)"
            )
        return FakeDevice()


def target(name: str) -> FakeTarget:
    return FakeTarget(name)
