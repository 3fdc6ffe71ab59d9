"""The simulated device is there before the first backward pass of the test process."""

import pytest

from conformance.simulator import activate, table


@pytest.fixture(scope="session", autouse=True)
def _counted_by_autograd() -> None:
    """Autograd's engine counts the devices once, at its first backward: one that comes later has no thread in it."""
    activate.start(table.releases()[-1])
