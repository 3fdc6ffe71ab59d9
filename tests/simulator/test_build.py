"""The library is built once, and what stops it is said in one sentence."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import settings
from conformance.errors import UsageError
from conformance.simulator import build

# A compiler that takes its time, counts its runs and writes something: what is tested is who calls it and when.
COMPILER = """#!{python}
import pathlib, sys, time
if "--version" in sys.argv:
    print("slowcc 1.0")
    sys.exit()
with open("{log}", "a") as log:
    log.write("built\\n")
time.sleep(0.5)
pathlib.Path(sys.argv[sys.argv.index("-o") + 1]).write_text("library")
"""


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A counting compiler; its log is the file beside it."""
    path = tmp_path / "slowcc"
    path.write_text(COMPILER.format(python=sys.executable, log=tmp_path / "log"))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", str(path))
    monkeypatch.setenv(settings.CACHE, str(tmp_path / "cache"))
    return path


def test_processes_that_start_together_build_once(compiler: Path) -> None:
    command = [sys.executable, "-m", "conformance.simulator.build"]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    ended = [each.communicate(timeout=60) for each in started]
    assert [each.returncode for each in started] == [0, 0, 0]
    (path,) = {out.strip() for out, _ in ended}
    assert Path(path).read_text() == "library"
    assert (compiler.parent / "log").read_text() == "built\n"
    assert sum("building the simulated device" in err for _, err in ended) == 1


def test_another_compiler_or_source_is_another_build(compiler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = build.library()
    compiler.write_text(compiler.read_text().replace("slowcc 1.0", "slowcc 2.0"))
    assert build.library() != first
    assert build.library() == build.library()
    assert (compiler.parent / "log").read_text() == "built\n" * 2


def test_a_killed_build_leaves_nothing_that_could_be_taken_for_a_library(compiler: Path) -> None:
    compiler.write_text(compiler.read_text().replace("time.sleep(0.5)", "import os; os.kill(os.getppid(), 9)"))
    killed = subprocess.run([sys.executable, "-m", "conformance.simulator.build"], capture_output=True, check=False)
    assert killed.returncode == -9
    assert not list((compiler.parent / "cache" / "simulator").glob("*.so"))


def test_no_compiler_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv(settings.CACHE, str(tmp_path / "cache"))
    with pytest.raises(UsageError, match="needs a C\\+\\+ compiler and none was found: install g\\+\\+ or set CXX"):
        build.library()


def test_a_failing_compiler_is_one_sentence_with_its_first_error_and_a_log(compiler: Path) -> None:
    compiler.write_text("#!/bin/sh\necho 'x.cpp:1: error: no such thing' >&2\necho 'more' >&2\nexit 1\n")
    with pytest.raises(
        UsageError, match=r"could not build the simulated device: x\.cpp:1: error: no such thing"
    ) as caught:
        build.library()
    assert "\n" not in str(caught.value)
    (log,) = (compiler.parent / "cache" / "simulator").glob("*.log")
    assert "more" in log.read_text()


def test_a_full_disk_is_one_sentence(compiler: Path) -> None:
    compiler.write_text("#!/bin/sh\necho 'Fatal error: cannot write x.o: No space left on device' >&2\nexit 1\n")
    with pytest.raises(
        UsageError, match=r"no space to build the simulated device in .*: free 10 MB or set CONFORMANCE_"
    ):
        build.library()


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_folder_that_cannot_be_written_is_one_sentence(compiler: Path) -> None:
    (compiler.parent / "cache").mkdir(mode=0o500)
    with pytest.raises(UsageError, match="set CONFORMANCE_CACHE to a writable folder"):
        build.library()


def test_a_cache_that_is_a_file_is_one_sentence(compiler: Path) -> None:
    (compiler.parent / "cache").write_text("")
    with pytest.raises(UsageError, match="set CONFORMANCE_CACHE to a writable folder"):
        build.library()
