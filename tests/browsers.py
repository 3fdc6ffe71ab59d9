"""Browser tests where there is a browser: left out with one line where there is none, unless it is required."""

import os
import shutil

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_LEFT_OUT = pytest.StashKey[int]()
_FROM_WORKER = "browser_tests_left_out"


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


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist prints nothing: it tells its controller."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_FROM_WORKER] = session.config.stash.get(_LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    """Every worker collects the same tests, so any one's number will do."""
    number = getattr(node, "workeroutput", {}).get(_FROM_WORKER, 0)
    node.config.stash[_LEFT_OUT] = number  # type: ignore[attr-defined]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say so in one line."""
    if number := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.line(f"{number} browser tests left out: there is no Chromium on this machine")
