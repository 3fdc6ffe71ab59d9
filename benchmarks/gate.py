"""154,000 tests and 100,000 models: `conformance gate` as a whole command, beside reading two JUnit files.

Four releases are stored, the last of which changes one test in 237. Measured are the gate against the release before
and against the best of three, with a server that runs already and with one that the command starts. The peer is a
script that reads two JUnit files of the same outcomes with junitparser and counts what differs: no policy, no causes,
no waivers. The bar of the gate is 2 seconds; exit 1 when it is missed.

    python benchmarks/gate.py
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import store as peers

from conformance import store
from conformance.outcomes import TestId
from conformance.plan import PlannedTest, RunHeader, Selection, digest
from conformance.record import RunFolder
from conformance.settings import Settings

BAR = 2.0
RELEASES = ("r1", "r2", "r3", "r4")
WAIVERS = """
[[waiver]]
id = "one"
reason = "to be looked up"
link = "https://example.org/1"
owner = "bench"
expires = 2999-01-01
dtypes = ["float16"]
"""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=154_000)
    parser.add_argument("--models", type=int, default=100_000)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="nc-bench-"))
    folder.chmod(0o755)
    try:
        return measure(folder, [*peers.planned(options.tests), *models(options.models)])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def models(count: int) -> list[PlannedTest]:
    """Synthetic signatures of models, a thousand architectures."""
    made = []
    for number in range(count):
        cls, name = f"Model{number % 1_000}ForCausalLM", f"eager.float32.{number:08x}"
        test = TestId(suite="models", file="causal-lm", cls=cls, name=name, dtype="float32", kind="eager")
        made.append(PlannedTest(id=test, definition=f"m{number}"))
    return made


def write(path: Path, tests: list[PlannedTest], release: str) -> None:
    """A release's run, as its children leave it."""
    peers.write_run(path, tests, release == RELEASES[-1])
    header = RunHeader(
        run=path.name, target="sim", release=release, simulated=True, selection=Selection(suites=("ops", "models")),
        plan_digest=digest(tests), planned=len(tests), started=1.7e9 + RELEASES.index(release) * 1e4,
    )  # fmt: skip
    RunFolder(path=path).header.unlink()
    RunFolder(path=path).plan.unlink()
    RunFolder(path=path).create(header, tests)


def measure(folder: Path, tests: list[PlannedTest]) -> int:
    """Store four releases, gate the last."""
    (folder / "waivers.toml").write_text(WAIVERS)
    settings = Settings(home=folder / "home", cache=folder / "cache", database_url="")
    script = str(Path(sys.executable).with_name("conformance"))
    gate = (script, "gate", "--candidate", "r4", "--format", "json", "--waivers", str(folder / "waivers.toml"))

    def asked(*more: str) -> float:
        return peers.best(lambda: peers.command(*gate, *more, home=folder / "home"), 3)

    with store.open_store(settings) as opened:
        for release in RELEASES:
            write(folder / release, tests, release)
            store.ingest(opened, folder / release)
        before, three, said = asked(), asked("--best-of", "3"), peers.command(*gate, home=folder / "home")
    alone = asked()
    for name, later in (("a", False), ("b", True)):
        peers.write_junit(folder / f"{name}.xml", tests, later)
    files = (str(folder / "a.xml"), str(folder / "b.xml"))
    peer = peers.best(lambda: peers.command(sys.executable, "-c", peers.JUNIT_DIFF, *files, home=folder), 2)
    assert '"verdict": "blocked"' in said, said[:500]
    print(f"{len(tests):,} outcomes a release on this machine, {os.cpu_count()} cores")
    print(f"conformance gate, the release before     {before:8.2f} s   bar {BAR:.0f} s")
    print(f"conformance gate, the best of three      {three:8.2f} s")
    print(f"conformance gate, starts a server        {alone:8.2f} s")
    print(f"junitparser script, two files            {peer:8.2f} s   {peer / before:.1f} x conformance gate")
    return int(max(before, three) > BAR)


if __name__ == "__main__":
    sys.exit(main())
