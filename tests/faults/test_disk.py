"""A disk that refuses ends the run with one sentence, and nothing that was recorded is lost."""

import resource
import subprocess

from tests.faults.harness import COMMAND, Lab, many

LIMIT = 12_000


def test_a_disk_that_fills_up_ends_the_run_with_code_4_and_the_run_resumes(lab: Lab) -> None:
    lab.plan(*many("pass", 60))
    process = subprocess.run(
        [*COMMAND, "run", "--target", "fake", "--suite", "fake", "-n", "1", "--no-ingest", "--format", "json"],
        env=lab.environment(), cwd=lab.path, capture_output=True, text=True, timeout=60, check=False,
        # Files cannot grow past the limit, as if the disk were full: the plan fits, the journal does not.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT)),
    )  # fmt: skip
    assert process.returncode == 4, process.stderr
    last = process.stderr.strip().splitlines()[-1]
    assert "is the disk full" in last
    assert last.endswith("(exit 4: store)")
    before = [name for name, word in lab.outcomes().items() if word == "pass"]
    assert 0 < len(before) < 60
    done = lab.run("--resume", lab.folders()[0].path.name)
    assert done.code == 0, done.err
    assert set(lab.outcomes().values()) == {"pass"}


def test_a_home_that_cannot_be_written_is_one_sentence(lab: Lab) -> None:
    lab.plan("pass-0")
    (lab.path / "home").write_text("a file, not a folder")
    done = lab.run()
    assert done.code == 4
    assert "cannot be written" in done.last
    assert "Traceback" not in done.err


def test_a_store_that_is_down_keeps_the_run_and_says_how_to_store_it(lab: Lab) -> None:
    lab.plan("pass-0")
    command = [*COMMAND, "run", "--target", "fake", "--suite", "fake", "-n", "1"]
    environment = {**lab.environment(), "DATABASE_URL": "postgresql://nobody:secret@127.0.0.1:1/none"}
    done = subprocess.run(
        command, env=environment, cwd=lab.path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 4, done.stderr
    assert f"conformance ingest {lab.folders()[0].path}" in done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr
    assert lab.outcomes() == {"pass-0": "pass"}
