"""Browser tests on a machine without a browser: left out with one line, or failing where one is required."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def pytest_without_browser(*arguments: str, required: str = "") -> subprocess.CompletedProcess[str]:
    """Run pytest where no program is found by name."""
    environment = {**os.environ, "PATH": "", "CONFORMANCE_REQUIRE_BROWSER": required}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("arguments", [("--collect-only",), ("-n", "1")])
def test_browser_tests_are_left_out_with_one_line(arguments: tuple[str, ...]) -> None:
    said = pytest_without_browser("tests/e2e", *arguments)
    assert said.returncode == 5
    lines = [each for each in said.stdout.splitlines() if "Chromium" in each]
    assert len(lines) == 1
    assert lines[0].endswith("browser tests left out: there is no Chromium on this machine")


@pytest.mark.slow
def test_a_required_browser_that_is_missing_fails_the_tests() -> None:
    said = pytest_without_browser("tests/e2e/test_sight.py", "-k", "paper", required="1")
    assert said.returncode == 1
    assert "apt-get install chromium" in said.stdout
