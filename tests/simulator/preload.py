"""What the fork server of the tests loads: the device's library, never the device."""

from conformance.simulator import library

library.load()
