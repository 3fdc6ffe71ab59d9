"""What the plugin refuses, in one sentence each, before any test is run."""

import subprocess
from pathlib import Path

import pytest

from tests.plugin.sessions import FILES, command_line, environment


def refused(tmp_path: Path, *arguments: str, target: str = "sim") -> str:
    done = subprocess.run(
        command_line(*arguments, target=target), capture_output=True, text=True, check=False,
        env=environment(tmp_path / "home"), cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert not list(tmp_path.rglob("run.json"))
    return done.stdout + done.stderr


def test_an_unknown_target_is_refused_with_the_choices(tmp_path: Path) -> None:
    assert "unknown target 'gaudi': choose one of sim, trn2, trn3, cpu" in refused(tmp_path, target="gaudi")


def test_an_unknown_release_is_refused_with_the_choices(tmp_path: Path) -> None:
    said = refused(tmp_path, "--conformance-release", "sim-9")
    assert "unknown release 'sim-9' of target 'sim': choose one of sim-1.0, sim-1.1" in said


def test_a_target_that_is_not_installed_is_refused_with_the_remedy(tmp_path: Path) -> None:
    assert "target 'trn2' needs " in refused(tmp_path, target="trn2")


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = refused(tmp_path, "--conformance-run", str(tmp_path / "file" / "run"), str(FILES / "opinfo_rules.py"))
    assert "cannot be written (Not a directory): name another folder with --conformance-run" in said
    assert "INTERNALERROR" not in said


@pytest.mark.slow
def test_a_folder_that_holds_a_run_is_not_written_to_again(tmp_path: Path) -> None:
    (tmp_path / "used" / "journal").mkdir(parents=True)
    (tmp_path / "used" / "journal" / "main.jsonl").touch()
    said = refused(tmp_path, "--conformance-run", str(tmp_path / "used"), str(FILES / "opinfo_rules.py"))
    assert "already holds a run: name another folder with --conformance-run" in said


@pytest.mark.slow
def test_two_tests_that_would_have_one_identity_end_the_session_before_it_begins(tmp_path: Path) -> None:
    (tmp_path / "test_twins.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('x', [1, 2], ids=['<f at 0x7f0000000001>', '<f at 0x7f0000000002>'])\n"
        "def test_twin(x): pass\n"
    )
    said = refused(tmp_path, str(tmp_path / "test_twins.py"))
    assert "two planned tests have the identity 'upstream::test_twins::::test_twin[<f at 0x…>]'" in said
