"""What the installed torch says of itself without being imported."""

import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.upstream import Torch, installed
from conformance.upstream.installed import number


def test_the_commit_is_the_one_that_torch_itself_names() -> None:
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    told = runpy.run_path(str(Path(spec.origin).with_name("version.py")))
    assert installed() == Torch(version=told["__version__"], commit=told["git_version"])


def test_torch_is_not_imported_for_it() -> None:
    code = "import sys; from conformance.upstream import installed; installed(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("version", "tag"),
    [
        ("2.13.0+cpu", "v2.13.0"),
        ("2.13.1", "v2.13.1"),
        ("2.14.0.dev20261101+cpu", ""),
        ("2.14.0a0+git1a2b3c4", ""),
    ],
)
def test_a_release_has_a_tag_and_a_build_before_it_has_none(version: str, tag: str) -> None:
    assert Torch(version=version).tag == tag


@pytest.mark.parametrize("text", ["2.13.0+cpu", "v2.13.0-rc2", "2.13", "2.13.0a0\n"])
def test_a_version_is_compared_by_its_numbers(text: str) -> None:
    assert number(text) == "2.13.0"


def test_what_is_no_version_is_refused() -> None:
    with pytest.raises(UsageError, match="'<html>' is not a version: one looks like"):
        number("<html>")
