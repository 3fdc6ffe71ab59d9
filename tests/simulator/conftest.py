"""The simulated device in the test's own process, under a table that the test writes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.simulator import activate, faults, table
from conformance.targets import Device, sim
from conformance.targets.tracked import TrackedDevice

HEAD = """
[[release]]
name = "test"
summary = "a table of a test"

[compiler]
most_nodes = 50
most_bytes = 1000000
seconds_base = 2.0
seconds_node = 0.5
seconds_warm = 0.25
"""

Start = Callable[..., TrackedDevice]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """`start(entries, **variables)` writes a table, sets the variables and starts the device under both."""
    for name in (activate.ONLY_UNIMPLEMENTED, activate.DISABLE_FALLBACK, faults.FAULTS, faults.STATE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", str(tmp_path / "neff"))

    def started(entries: str = "", **variables: str) -> TrackedDevice:
        file = tmp_path / "table.toml"
        file.write_text(HEAD + entries)
        monkeypatch.setenv(table.TABLE, str(file))
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        device = sim.target("sim").activate("test")
        device.clear()
        assert isinstance(device, TrackedDevice)
        return device

    yield started
    monkeypatch.undo()
    activate.start(table.releases()[-1])


@pytest.fixture
def device(start: Start) -> Device:
    """The device with everything native."""
    return start()
