"""The pytest plugin: `pytest --conformance-target sim FILE…` runs upstream-style tests on a target and records the run.

This module is loaded by every pytest process of the environment: it imports nothing but pytest and does nothing
until a target is named. docs/plugin.md tells what it does then.
"""

from typing import Any

import pytest

_OPTIONS = (
    ("target", "run the tests on this target and record the outcomes, as sim"),
    ("release", "the target's release to run, as sim-1.0; the newest when not given"),
    ("run", "folder to record the run in; a new one below the home folder when not given"),
    ("plan", "write the collected plan to this file, one test a line, and record nothing (with --collect-only)"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; the target and the release may also stand in the ini file."""
    group = parser.getgroup("conformance", "conformance of an accelerator backend")
    for name, text in _OPTIONS:
        group.addoption(f"--conformance-{name}", dest=f"conformance_{name}", metavar=name.upper(), help=text)
    group.addoption(
        "--conformance-plain", dest="conformance_plain", action="store_true",
        help="leave PyTorch's test harness as it is: without the two shortcuts that save time and change no outcome",
    )  # fmt: skip
    parser.addini("conformance_target", "as --conformance-target", default="")
    parser.addini("conformance_release", "as --conformance-release", default="")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Activate the target before a conftest or a test file can import PyTorch's test harness."""
    given: Any = early_config.known_args_namespace
    target = given.conformance_target or early_config.getini("conformance_target")
    if target:
        from conformance.pytest_hooks import session

        release = given.conformance_release or early_config.getini("conformance_release")
        session.prepare(early_config, target, release)
