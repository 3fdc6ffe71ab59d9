"""Runs `conformance run` as a real process over the fake suite and target in tests/faults/fakes."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from conformance.outcomes import Outcome
from conformance.record import Result, RunFolder, read_results

FAKES = Path(__file__).parent / "fakes"
COMMAND = (sys.executable, "-c", "from conformance.cli import main; main()")


@dataclass(frozen=True, kw_only=True)
class Done:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        return self.err.strip().splitlines()[-1]

    @property
    def document(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.out)
        return found


@dataclass(frozen=True)
class Lab:
    """A home of its own with one folder of state, and the database that tests share."""

    path: Path
    database_url: str

    @property
    def state(self) -> Path:
        return self.path / "state"

    def plan(self, *names: str) -> None:
        self.state.mkdir(exist_ok=True)
        (self.state / "tests").write_text("\n".join(names))

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "CONFORMANCE_HOME": str(self.path / "home"),
            "DATABASE_URL": self.database_url,
            "FAKE_STATE": str(self.state),
            "PYTHONPATH": str(FAKES),
        }

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """A run in the background, in a session of its own as under a terminal."""
        return subprocess.Popen(
            [*COMMAND, *arguments], env=self.environment(), cwd=self.path, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def call(self, *arguments: str, limit: float = 60) -> Done:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=limit)
        return Done(code=process.returncode, out=out, err=err)

    def run(self, *arguments: str, limit: float = 60) -> Done:
        """`conformance run` on the fake target, stored nowhere."""
        given = () if "--resume" in arguments or "--failed-of" in arguments else ("--target", "fake", "--suite", "fake")
        return self.call("run", *given, "--no-ingest", "--format", "json", *arguments, limit=limit)

    def folders(self) -> list[RunFolder]:
        found = sorted((self.path / "home" / "runs").glob("*/run.json"), key=lambda path: path.stat().st_mtime)
        return [RunFolder(path=path.parent) for path in found]

    def results(self) -> dict[str, Result]:
        """Results of the newest run by test name."""
        return {each.test.id.name: each for each in read_results(self.folders()[-1])}

    def outcomes(self) -> dict[str, str]:
        return {name: shown(each) for name, each in self.results().items()}


def shown(result: Result) -> str:
    return result.outcome.word + (" flaky" if result.flaky else "")


def many(word: str, number: int) -> list[str]:
    return [f"{word}-{each}" for each in range(number)]


def only(outcomes: dict[str, str], names: Iterable[str]) -> set[str]:
    return {outcomes[name] for name in names}


PASS = Outcome.PASS.word
