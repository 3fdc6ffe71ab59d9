"""The plugin is in every pytest process of an environment: unasked it costs nothing and does nothing."""

import subprocess
import sys
from pathlib import Path

from tests.plugin.sessions import command_line, environment


def test_importing_the_plugin_imports_nothing_that_pytest_has_not() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import conformance.plugin;"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["conformance", "conformance.plugin"]


def test_a_target_s_variables_can_be_set_before_torch_is_there() -> None:
    code = "import sys, conformance.pytest_hooks.session; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_without_a_target_no_run_is_recorded_and_torch_stays_out(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(
        "import sys\n"
        "def test_plain():\n"
        "    assert not {'torch', 'msgspec', 'conformance.pytest_hooks'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        command_line("-c", "/dev/null", str(tmp_path), target=""), capture_output=True, text=True, check=False,
        env=environment(tmp_path / "home"), cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "conformance" not in done.stdout
    assert not (tmp_path / "home").exists()
