"""A dashboard for tests: a real server over a real database with a handful of synthetic runs, one of them hostile."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import uvicorn

from conformance.journal import Journal
from conformance.outcomes import Attempt, Outcome, RanOn, Source, TestId
from conformance.plan import Decision, PlannedTest, RunHeader, Selection, digest
from conformance.record import RunFolder
from conformance.store import Store, ingest
from tests.runs import Made, attempt, make_run
from web.app import create

DTYPES = ("float32", "bfloat16", "int64", "")
KINDS = ("forward", "backward", "compiled")
OPS = ("add", "mul", "nn.functional.softmax", "linalg.qr")

GUARD = Source(who="gate", code="onlyOn.__call__.<locals>.only_fn", where="test/test_a.py:8")

HOSTILE: Mapping[str, str] = {
    "script": "<script>alert('x')</script>",
    "attribute": "\"'><img src=x onerror=alert(1)>",
    "terminal": "\x1b[31mred\x1b[0m\x07\x9b1m",
    "direction": "\u202egnp.exe\u2066\u200b",
    "nothing": "a\0b",
    "formula": "=cmd|'/c calc'!A1",
    "template": "{{ 7 * 7 }}{% raw %}",
    "path": "../..//etc/passwd?x=1&y=2#z%2e%00;",
    "lines": "one\ntwo\r\nthree\ttabs",
    "long": "x" * 10_000,
    "percent": "100%_of_\\it",
    "other": "שלום 测试 \U0001f9ea",
}
"""Names that strangers might give to anything."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A running dashboard."""

    url: str
    store: Store


def base_run() -> dict[str, Made]:
    """Every outcome at least once, over ops, dtypes and kinds."""
    made: dict[str, Made] = {
        f"{kind}.{op}.{dtype}": Outcome.PASS for kind in KINDS for op in ("add",) for dtype in DTYPES[:3]
    }
    for place, outcome in enumerate(each for each in Outcome if each is not Outcome.NOT_RUN):
        name = f"{KINDS[place % 3]}.{('mul', 'softmax', 'qr')[place // 6 % 3]}.{DTYPES[place // 3 % 3]}"
        made[name] = attempt(
            outcome, cause=f"{outcome.word} cause", message=f"why {outcome.word}", rule=f"r:{outcome.word}",
            source=GUARD if outcome is Outcome.SKIP_ELIGIBILITY else None,
        )  # fmt: skip
    made["backward.qr.float32"] = Decision(
        outcome=Outcome.SKIP_COVERAGE, rule="coverage:qr", reason="no QR on the device"
    )
    made["forward.add.float32"] = attempt(Outcome.FALLBACK, ops=("aten::add", "aten::sort"), rule="fallback-ops")
    return made


def candidate_run() -> dict[str, Made]:
    """The same with changes: a regression with a traceback, a flaky test, one new, one gone."""
    made = base_run()
    made["forward.add.int64"] = attempt(
        Outcome.FAIL, cause="AssertionError: […] not close", message="AssertionError: not close\nworst 0.5 at (1, 2)",
        detail="Traceback (most recent call last):\n  \x1b[31mboom\x1b[0m\nAssertionError: not close\n",
    )  # fmt: skip
    made["backward.add.int64"] = [attempt(Outcome.ERROR, cause="once", detail="first try"), attempt(Outcome.PASS)]
    made["forward.brand_new.float32"] = replace(
        attempt(Outcome.PASS), leaked=("default_dtype: torch.float64 instead of torch.float32",)
    )
    del made["compiled.add.bfloat16"]
    return made


def hostile_run(path: Path) -> Path:
    """A run in which every text that a stranger can choose is hostile."""
    texts = list(HOSTILE.values())
    tests = [
        PlannedTest(
            id=TestId(
                suite=text, file=text, cls=text, name=f"{text}{place}", op=text, variant=text, dtype=text, kind=text
            ),
            definition="1",
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip
    header = RunHeader(
        run="e/vil <b>&\"'\u202e\x1b[1m", target=HOSTILE["script"], release=HOSTILE["attribute"], simulated=True,
        selection=Selection(suites=tuple(texts), profile=HOSTILE["script"], ops=tuple(texts), tests=tuple(texts)),
        plan_digest=digest(tests), planned=len(tests), started=1_700_000_500.0,
        environment={"torch": HOSTILE["terminal"], **{f"{text}{name}": text for name, text in enumerate(texts)}},
    )  # fmt: skip
    folder = RunFolder(path=path)
    folder.create(header, tests)
    with Journal(folder.journals / "one.jsonl") as journal:
        for test in tests:
            journal.begin(test.key)
            journal.end(test.key, _hostile_attempt(test.id.op))
    return path


def _hostile_attempt(text: str) -> Attempt:
    bare = attempt(Outcome.FAIL, cause=text, message=text, rule=text, code=text, detail=text, ops=(text, "aten::add"))
    return replace(bare, ran_on=RanOn.MIXED, leaked=(text, f"{text}: {text}"), seconds={text: 1.0, "execute": 0.5})


def seed(store: Store, folder: Path) -> None:
    """Five runs: two releases, an incomplete part, real hardware, a hostile one."""
    part: dict[str, Made] = {**base_run(), "forward.mul.float32": None, "forward.add.float32": None}
    selection = Selection(suites=("s",), ops=("add", "mul", "softmax", "qr"))
    folders = [
        make_run(folder / "base", base_run(), release="sim-1.0"),
        make_run(folder / "candidate", candidate_run(), release="sim-1.1", started=1_700_000_100.0),
        make_run(folder / "part", part, release="sim-1.1", started=1_700_000_200.0, selection=selection),
        make_run(folder / "real", base_run(), release="2.30", target="trn2", simulated=False, started=1_700_000_300.0),
        hostile_run(folder / "hostile"),
    ]
    for each in folders:
        ingest(store, each)


@contextmanager
def serving(store: Store) -> Iterator[Site]:
    """The dashboard over a store, on a free port, until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(create(store), log_level="error", access_log=False, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield Site(url=f"http://127.0.0.1:{listening.getsockname()[1]}", store=store)
        finally:
            server.should_exit = True
            thread.join(10)
