"""Where the simulated compiler keeps its graphs, by the variables that the real one obeys. Imports no torch."""

import os
import re
from pathlib import Path
from typing import Final

from conformance import settings

CACHE_URL: Final = "NEURON_COMPILE_CACHE_URL"
FLAGS: Final = "NEURON_CC_FLAGS"


def folder() -> Path:
    """The cache: --cache_dir in NEURON_CC_FLAGS, else NEURON_COMPILE_CACHE_URL, else in CONFORMANCE_CACHE."""
    flag = re.search(r"--cache_dir[= ](\S+)", os.environ.get(FLAGS, ""))
    given = flag[1] if flag else os.environ.get(CACHE_URL)
    return Path(given.removeprefix("file://")) if given else settings.load().cache / "neff"
