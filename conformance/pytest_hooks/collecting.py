"""One test file collected by pytest in this process, as a module or in a forked child: the process ends with it."""

import gc
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from conformance.pytest_hooks import identity, tree_files

OPTIONS = (
    *("-p", "no:cacheprovider"),  # no folder of ours beside foreign tests
    *("-p", "no:faulthandler"),  # the worker has its own, which writes to the run's log
    *("-n0", "--maxfail=0", "--continue-on-collection-errors", "-q"),  # every test, here, whatever an ini file says
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # plugins were imported with torch, before pytest
)


def collect(target: str, release: str, plan: str, *arguments: str) -> int:
    """Write the plan of some arguments of one file, and beside it what was loaded; pytest's status.

    What was loaded are the files below the file's own test folder, in a PyTorch tree below its root, as `PLAN.loaded`
    in JSON.
    """
    for name in [each for each in os.environ if each.startswith("PYTEST_XDIST_")]:
        del os.environ[name]  # inside a worker of pytest-xdist, this pytest is none of its workers
    # Nothing is thrown away while tests are made: looking for garbage takes a third of the time.
    gc.disable()
    chosen = ["--collect-only", "--conformance-target", target, "--conformance-release", release]
    # The log has what a file printed before it died, but not each test's name, of which there may be thirty thousand.
    file = Path(arguments[0].partition("::")[0]).absolute()
    # Its search for garbage in the end takes a tenth of the time, and no test has run that could have left any.
    quiet = ("-qq", "-s", "-p", "no:unraisableexception")
    code = pytest.main([*options([file]), *quiet, *chosen, "--conformance-plan", plan, *arguments])
    partial = Path(f"{plan}.loaded.partial")
    partial.write_text(json.dumps(_loaded_below(Path(identity.tree_of(file)))))
    partial.replace(f"{plan}.loaded")
    return int(code)


def options(files: Iterable[Path]) -> tuple[str, ...]:
    """pytest's options for some files: PyTorch's own conftest is left out.

    It is written for one version of pytest and stops others; what it adds are options for PyTorch's CI.
    """
    paths = list(files)
    trees = {Path(identity.tree_of(each)) for each in paths}
    own = any((tree / "run_test.py").exists() and (tree / "conftest.py").exists() for tree in trees)
    return (*OPTIONS, *tree_files.options(paths), *(("--noconftest",) if own else ()))


def _loaded_below(tests: Path) -> list[str]:
    tree = tests.parent if (tests.parent / "version.txt").exists() else tests
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({each for each in files if each and Path(each).is_relative_to(tree)})


def leave(status: int) -> None:
    """End this process at once: tearing an interpreter with a plan of torch's tests down takes seconds."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main(arguments: Sequence[str]) -> None:
    """`python -m conformance.pytest_hooks.collecting TARGET RELEASE PLAN ARGUMENT…`."""
    leave(collect(*arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
