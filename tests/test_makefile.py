"""What `make` would do, without doing it."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VARIABLES = ("TARGET", "RELEASE", "SUITE", "PROFILE", "OPS", "TESTS", "N", "ARGS", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")


def command(*words: str) -> list[str]:
    """The words of the last command that `make sweep` would run."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        ["make", "-n", "--no-print-directory", "sweep", *words], cwd=ROOT, env=environment, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.replace("\\\n", " ").rpartition(".venv/bin/conformance")[2].replace('"', "").split()


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ((), "run --target sim --suite ops,models"),
        (("TARGET=trn2", "N=4"), "run --target trn2 --suite ops,models --workers 4"),
        (("SUITE=models", "PROFILE=full"), "run --target sim --suite models --profile full"),
        (("OPS=add",), "run --target sim --ops add"),
        (("TESTS=test_ops.py",), "run --target sim --tests test_ops.py"),
        (("SUITE=flex_attention", "ARGS=--extend-flex-devices"),
         "run --target sim --suite flex_attention --extend-flex-devices"),
    ],
)  # fmt: skip
def test_a_sweep_is_of_tests_and_models_unless_something_is_chosen(given: tuple[str, ...], made: str) -> None:
    assert command(*given) == made.split()
