"""What a command costs, all of its processes counted: seconds on the clock and of CPU, and memory while it runs."""

import os
import resource
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(kw_only=True, slots=True)
class Spent:
    """Seconds on the clock and of CPU, and peak memory in bytes: of all processes, and of the largest one."""

    wall: float = 0.0
    cpu: float = 0.0
    all: int = 0
    one: int = 0
    output: str = ""


@dataclass(slots=True)
class Gauge:
    """Reads the memory of a process and its descendants while it runs."""

    root: int
    spent: Spent
    over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Look twice a second."""
        while not self.over.wait(0.5):
            sizes = [_shared_size(each) for each in _descendants(self.root)]
            self.spent.all = max(self.spent.all, sum(sizes))
            self.spent.one = max(self.spent.one, max(sizes, default=0))


def _descendants(root: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
        except (OSError, ValueError, IndexError):
            continue
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        waiting += parents.get(found[-1], [])
    return found


def _shared_size(pid: int) -> int:
    """Proportional set size in bytes."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def measured(command: list[str], variables: dict[str, str], cwd: Path) -> Spent:
    """Run a command; ends the benchmark when it could not be started."""
    spent, before, began = Spent(), resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, env={**os.environ, **variables}, cwd=cwd, stdout=output, stderr=output)
        gauge = Gauge(process.pid, spent)
        watcher = threading.Thread(target=gauge.watch)
        watcher.start()
        process.wait()
        spent.wall = time.perf_counter() - began
        gauge.over.set()
        watcher.join()
        output.seek(0)
        spent.output = output.read()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent
