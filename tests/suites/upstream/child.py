"""A child as the supervisor's: activates the device and runs the plan of a folder. Arguments: folder."""

import sys
from pathlib import Path

from conformance import plan, suites, targets
from conformance.journal import Journal
from conformance.record import RunFolder
from conformance.suites import Bench
from tests.plugin.sessions import RELEASE

folder = RunFolder(path=Path(sys.argv[1]))
device = targets.get("sim").activate(RELEASE)
tests = [each for each in plan.read(folder.plan) if each.decided is None]
with Journal(folder.journals / "child.jsonl") as journal:
    bench = Bench(target="sim", release=RELEASE, device=device, journal=journal, numbers={})
    suites.get("upstream").run(tests, bench)
