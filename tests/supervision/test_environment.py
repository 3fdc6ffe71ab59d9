"""What is recorded of a run's environment, and what is not."""

import shutil
from pathlib import Path

import pytest

from conformance.supervision import environment


def test_only_listed_variables_are_recorded_and_never_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_CC_FLAGS", "--optlevel 1")
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:hunter2@db/x")
    monkeypatch.setenv("CONFORMANCE_API_TOKEN", "hunter2")
    monkeypatch.setenv("USER", "somebody")
    found = environment.describe()
    assert found["variable.NEURON_CC_FLAGS"] == "--optlevel 1"
    assert "hunter2" not in str(found)
    assert "variable.USER" not in found
    assert found["package.torch"].startswith("2.")
    assert int(found["machine.cores"]) >= 1


def test_the_fingerprint_names_what_decides_outcomes() -> None:
    found = environment.fingerprint("sim", "sim-1.1", ["ops"])
    assert found.keys() == {"torch", "python", "target", "release", "code", "rules"}
    assert found == environment.fingerprint("sim", "sim-1.1", ["ops"])


def test_a_compile_cache_is_cold_warm_or_unknown(tmp_path: Path) -> None:
    assert environment.cache_state(str(tmp_path)) == "cold"
    assert environment.cache_state(str(tmp_path / "absent")) == "cold"
    (tmp_path / "graph.neff").touch()
    assert environment.cache_state(str(tmp_path)) == "warm"
    assert environment.cache_state("s3://bucket/cache") == "unknown"
    assert environment.cache_state("") == "unknown"


def test_a_change_of_any_source_of_the_package_changes_the_code_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = environment._PACKAGE
    assert {"classify.py", "simulator", "suites"} <= {each.name for each in whole.iterdir()}
    shutil.copytree(whole, tmp_path / "conformance", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(environment, "_PACKAGE", tmp_path / "conformance")
    before = environment._package_hash.__wrapped__()
    for name in ("classify.py", "suites/ops/runner.py", "coverage/sim.toml"):
        with (tmp_path / "conformance" / name).open("a") as file:
            file.write("# changed\n")
        after = environment._package_hash.__wrapped__()
        assert after != before
        before = after
