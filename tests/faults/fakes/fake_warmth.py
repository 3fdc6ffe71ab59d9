"""Says in FAKE_STATE/warmed which process imported it first."""

import os

from fake_target import state

PROCESS = os.getpid()

with (state() / "warmed").open("a") as file:
    file.write(f"{PROCESS}\n")
