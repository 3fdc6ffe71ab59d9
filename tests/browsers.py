"""Browser tests where there is a browser: left out with one line where there is none, unless it is required."""

import os
import shutil
from collections.abc import Sequence

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_LEFT_OUT = pytest.StashKey[int]()


def chromium() -> str | None:
    """Where the browser is."""
    return next((found for each in _NAMES if (found := shutil.which(each))), None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect browser tests on a machine without one; with CONFORMANCE_REQUIRE_BROWSER=1 they stay, and fail."""
    if chromium() or os.environ.get("CONFORMANCE_REQUIRE_BROWSER") == "1":
        return
    left_out = [each for each in items if each.get_closest_marker("browser")]
    if left_out:
        items[:] = [each for each in items if each not in left_out]
        config.hook.pytest_deselected(items=left_out)
        config.stash[_LEFT_OUT] = len(left_out)


def pytest_report_collectionfinish(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    """Say so in one line."""
    number = config.stash.get(_LEFT_OUT, 0)
    return [f"{number} browser tests left out: there is no Chromium on this machine"] if number else []
