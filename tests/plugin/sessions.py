"""Runs pytest with the plugin in a process of its own, and reads back what it recorded."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from conformance import record
from conformance.record import Result, RunFolder

FILES = Path(__file__).parents[1] / "upstream_style"
RELEASE = "sim-1.1"


@dataclass(frozen=True, kw_only=True)
class Session:
    """A finished pytest session: status, what it printed, and its run's folder."""

    code: int
    output: str
    folder: RunFolder

    def results(self) -> dict[str, Result]:
        """Every planned test by its class and name."""
        return {each.test.key.split("::", 2)[2]: each for each in record.read_results(self.folder)}

    def by_file(self) -> dict[str, Result]:
        """Every planned test by its file, class and name."""
        return {
            f"{each.test.id.file.rpartition('/')[2]}::{each.test.id.cls}::{each.test.id.name}": each
            for each in record.read_results(self.folder)
        }


def environment(home: Path) -> dict[str, str]:
    """The variables of a child: a home of its own, nothing of a surrounding pytest."""
    foreign = ("PYTEST_", "PYTORCH_", "CONFORMANCE_HOME")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**kept, "CONFORMANCE_HOME": str(home)}


def command_line(*arguments: str, target: str = "sim") -> list[str]:
    """The command line of a session, our own conftest left out; without a target, of plain pytest."""
    chosen = ["--conformance-target", target, "--conformance-release", RELEASE] if target else []
    alone = ["-q", "-p", "no:cacheprovider", "--confcutdir", str(FILES)]
    return [sys.executable, "-m", "pytest", *alone, *chosen, *arguments]


def session(home: Path, *arguments: str, target: str = "sim") -> Session:
    """Run pytest; the run is recorded in `home`/run."""
    where = home / "run"
    done = subprocess.run(
        command_line("--conformance-run", str(where), *arguments, target=target),
        capture_output=True, text=True, errors="replace", env=environment(home), cwd=FILES.parents[1], check=False,
        timeout=300,
    )  # fmt: skip
    return Session(code=done.returncode, output=done.stdout + done.stderr, folder=RunFolder(path=where))
