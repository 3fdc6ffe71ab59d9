"""154,000 outcomes: ingest, compare in the server, `conformance diff` as a command, bytes stored — beside junitparser.

Prints seconds of this machine and ratios from this one run. The peer compares two JUnit files of the same outcomes.
Example: .venv/bin/python benchmarks/store.py --tests 154000
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar
from xml.sax.saxutils import quoteattr

import msgspec

from conformance import store
from conformance.inventory import Overloads, Registration, Tells
from conformance.journal import Begin, End, Staged
from conformance.opsets import Names, Numbering, Reach
from conformance.outcomes import Attempt, Outcome, RanOn, Reached, Stage, TestId
from conformance.plan import PlannedTest, RunHeader, Selection, digest
from conformance.record import RunFolder
from conformance.renaming import Renames
from conformance.settings import Settings
from conformance.store import Store

T = TypeVar("T")
DTYPES = ("float32", "float16", "bfloat16", "int64", "int32", "bool", "complex64", "float64")
OVERLOADS = 3_110
KINDS = ("forward", "noncontiguous", "out", "backward", "compiled")
CHANGED_EVERY = 237
"""One test in so many changes between the two runs: 650 in 154,000."""


def planned(count: int) -> list[PlannedTest]:
    """Synthetic tests named like those of the suite ops."""
    tests = []
    for number in range(count):
        kind, rest = KINDS[number % len(KINDS)], number // len(KINDS)
        dtype, op = DTYPES[rest % len(DTYPES)], f"nn.functional.op_{rest // len(DTYPES)}"
        identity = TestId(
            suite="ops", file="", cls=op, name=f"{kind}_{op}_{dtype}", op=op, dtype=dtype, kind=kind
        )  # fmt: skip
        tests.append(PlannedTest(id=identity, definition=f"{number:016x}"))
    return tests


def outcome_of(number: int, later: bool) -> Attempt:
    """Of a hundred tests 80 pass, 9 fall back, 9 fail to compile in 40 ways and 2 give wrong numbers."""
    share = number % 100
    if later and number % CHANGED_EVERY == 0:
        share = 99 if share < 98 else 0
    seconds = {"setup": 0.001 + number % 7 / 1e4, "execute": 0.01 + number % 11 / 1e3, "compare": 0.002}
    if share < 80:
        return Attempt(outcome=Outcome.PASS, ran_on=RanOn.DEVICE, stage=Stage.COMPARE, seconds=seconds)
    if share < 89:
        ops = (f"aten::op_{number % 60}",)
        return Attempt(
            outcome=Outcome.FALLBACK, ran_on=RanOn.MIXED, stage=Stage.COMPARE, seconds=seconds, rule="fallback-ops",
            fallback_ops=ops,
        )  # fmt: skip
    failed = Outcome.COMPILE_FAIL if share < 98 else Outcome.FAIL
    code = f"NCC_EVRF0{number % 40 + 10}" if share < 98 else ""
    message = f"{code}: refused at line {number % 500}" if code else f"worst error {number % 97} at ({number % 13},)"
    detail = "Traceback (most recent call last):\n" + f'  File "ops.py", line {number % 500}, in call\n' * 12 + message
    return Attempt(
        outcome=failed, ran_on=RanOn.NONE, stage=Stage.COMPILE, seconds=seconds, message=message, code=code,
        cause=f"BackendError: {code}" if code else "AssertionError: worst error", detail=detail, rule="exception",
    )  # fmt: skip


def write_run(path: Path, tests: list[PlannedTest], later: bool) -> None:
    """A run's folder as eight children leave it."""
    folder = RunFolder(path=path)
    header = RunHeader(
        run=path.name, target="sim", release="later" if later else "earlier", simulated=True,
        selection=Selection(suites=("ops",)), plan_digest=digest(tests), planned=len(tests), started=1.7e9 + later,
    )  # fmt: skip
    folder.create(header, tests)
    folder.overloads.write_bytes(msgspec.json.encode(overloads(tests)))
    encoder = msgspec.json.Encoder()
    for child in range(8):
        known = Numbering()
        with (folder.journals / f"child-{child}.jsonl").open("wb") as file:
            for number in range(child, len(tests), 8):
                made = records(tests[number].key, number, later, known)
                file.writelines(encoder.encode(each) + b"\n" for each in made)


def overloads(tests: list[PlannedTest]) -> Overloads:
    """As many overloads as torch 2.13 has, an op of the tests behind each."""
    ops = sorted({each.id.op for each in tests})
    names = tuple(f"aten::op_{number}.Tensor" for number in range(OVERLOADS))
    return Overloads(
        torch="2.13.0", device="neuron", key="PrivateUse1", tells=Tells.OVERLOADS,
        served={Registration.KERNEL: names},
        named={op: (f"aten::op_{number % OVERLOADS}",) for number, op in enumerate(ops)},
    )  # fmt: skip


def records(key: str, number: int, later: bool, known: Numbering) -> Iterator[Begin | Staged | Names | Reach | End]:
    """What the journal has of one test. For a child every fourth test has a set of ops of its own."""
    made = outcome_of(number, later)
    at = 1.7e9 + number / 100
    first = number // 40
    took = Reached(
        executed=frozenset(f"aten::op_{(first * step) % OVERLOADS}.Tensor" for step in (1, 3, 7, 11)),
        fallback=frozenset(f"{each}.Tensor" for each in made.fallback_ops),
    )
    name, fresh = known.take(took)
    yield from fresh
    yield Begin(t=key, n=1, at=at, pid=1)
    yield Staged(t=key, s=Stage.EXECUTE, at=at)
    yield End(
        t=key, n=1, at=at, o=made.outcome, r=made.rule, on=made.ran_on, s=made.stage, d=dict(made.seconds),
        m=made.message, c=made.cause, k=made.code, f=made.fallback_ops, x=made.detail, u=name,
    )  # fmt: skip


def write_junit(path: Path, tests: list[PlannedTest], later: bool) -> None:
    """The same outcomes as pytest --junitxml would write them."""
    with path.open("w") as file:
        file.write(f'<?xml version="1.0"?><testsuites><testsuite name="ops" tests="{len(tests)}">')
        for number, test in enumerate(tests):
            made = outcome_of(number, later)
            file.write(f'<testcase classname={quoteattr(test.id.cls)} name={quoteattr(test.id.name)} time="0.013">')
            if made.detail:
                file.write(f"<failure message={quoteattr(made.message)}>{made.detail.replace('<', '&lt;')}</failure>")
            file.write("</testcase>")
        file.write("</testsuite></testsuites>")


JUNIT_DIFF = """
import sys
from junitparser import JUnitXml
def read(path):
    return {(case.classname, case.name): type(case.result[0]).__name__ if case.result else "pass"
            for suite in JUnitXml.fromfile(path) for case in suite}
before, after = read(sys.argv[1]), read(sys.argv[2])
print(sum(before.get(key) != after.get(key) for key in before.keys() | after.keys()))
"""


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What `work` returns, and the seconds it took."""
    began = time.perf_counter()
    made = work()
    return made, time.perf_counter() - began


def best(work: Callable[[], object], times: int = 5) -> float:
    """The least seconds of some repetitions."""
    return min(timed(work)[1] for _ in range(times))


def in_server(opened: Store) -> float:
    """Seconds to compare two runs whose vectors are in memory, as the web process does on a first request."""
    a, b = (store.resolve(opened, name).run for name in ("earlier", "later"))
    return best(lambda: store.compare(opened, a, b, Renames(tests={str(time.perf_counter()): "never planned"})))


def command(*arguments: str, home: Path) -> str:
    """stdout of a whole command in a process of its own."""
    environment = os.environ | {"CONFORMANCE_HOME": str(home)}
    environment.pop("DATABASE_URL", None)
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    return done.stdout


def main() -> None:
    """Measure everything once and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=154_000)
    count = parser.parse_args().tests
    folder = Path(tempfile.mkdtemp(prefix="nc-bench-"))
    folder.chmod(0o755)
    try:
        measure(folder, count)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(folder: Path, count: int) -> None:
    """Write, store and compare two runs of `count` tests."""
    tests = planned(count)
    for name, later in (("earlier", False), ("later", True)):
        write_run(folder / name, tests, later)
        write_junit(folder / f"{name}.xml", tests, later)
    settings = Settings(home=folder / "home", cache=folder / "cache", database_url="")
    with store.open_store(settings) as opened:
        _, first = timed(lambda: store.ingest(opened, folder / "earlier"))
        before = size(opened)
        _, second = timed(lambda: store.ingest(opened, folder / "later"))
        _, again = timed(lambda: store.ingest(opened, folder / "later"))
        grown, whole = size(opened) - before, size(opened)
        server = in_server(opened)
        kept = int(
            opened.rows("SELECT length(reaching) AS size FROM inventory ORDER BY run_id DESC LIMIT 1")[0]["size"]
        )
        latest = store.resolve(opened, "later").run
        told = best(lambda: store.find_inventory(opened, latest))
        script = Path(sys.executable).with_name("conformance")
        ours = best(lambda: command(str(script), "diff", "earlier", "later", home=folder / "home"), 3)
    alone = best(lambda: command(str(script), "diff", "earlier", "later", home=folder / "home"), 3)
    peer = best(
        lambda: command(
            sys.executable, "-c", JUNIT_DIFF, str(folder / "earlier.xml"), str(folder / "later.xml"), home=folder
        ),
        2,
    )
    xml = (folder / "earlier.xml").stat().st_size
    print(f"{count:,} outcomes on this machine, {os.cpu_count()} cores")
    print(f"ingest, every test new             {first:8.2f} s")
    print(f"ingest, the next run               {second:8.2f} s")
    print(f"ingest, the same run again         {again:8.2f} s")
    print(f"compare, vectors in memory         {server * 1000:8.2f} ms")
    print(f"conformance diff, server running   {ours:8.2f} s")
    print(f"conformance diff, starts a server  {alone:8.2f} s")
    print(f"junitparser script, two files      {peer:8.2f} s   {peer / ours:.1f} x conformance diff")
    print(
        f"stored by the next run             {grown / count:8.1f} bytes an outcome; {whole / count:.0f} with the first"
    )
    print(f"inventory of the next run          {kept:8,d} bytes, read in {told * 1000:.0f} ms")
    print(f"JUnit file                         {xml / count:8.1f} bytes an outcome")


def size(opened: Store) -> int:
    """Bytes of every table and index."""
    rows = opened.rows("SELECT sum(pg_total_relation_size(oid)) AS size FROM pg_class WHERE relkind = 'r' AND "
                       "relnamespace = 'public'::regnamespace")  # fmt: skip
    return int(rows[0]["size"])


if __name__ == "__main__":
    main()
