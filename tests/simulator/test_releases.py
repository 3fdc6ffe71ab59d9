"""Two real runs of the simulated releases, compared, beside what the two tables say: read anew here, without the
program's own reading of tables, coverage, outcomes or pairs."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import conformance

PACKAGE = Path(conformance.__file__).parent
RELEASES = ("sim-1.0", "sim-1.1")
COMMAND = (sys.executable, "-c", "from conformance.cli import main; main()")

CALLS: Mapping[str, tuple[str, ...]] = {
    "add": ("add",),
    "cumprod": ("cumprod",),
    "digamma": ("digamma",),
    "erfinv": ("erfinv",),
    "frexp": ("frexp",),
    "geqrf": ("geqrf",),
    "heaviside": ("heaviside",),
    "histc": ("histc",),
    "igammac": ("igammac",),
    "kthvalue": ("kthvalue",),
    "logaddexp2": ("logaddexp2",),
    "nextafter": ("nextafter",),
    "nn.functional.mish": ("mish",),
    "nn.functional.softshrink": ("softshrink",),
    "renorm": ("renorm",),
    "searchsorted": ("searchsorted",),
    "sinc": ("sinc",),
    "special.legendre_polynomial_p": ("special_legendre_polynomial_p",),
    "svd_lowrank": ("linalg_qr", "_linalg_svd", "mm"),
}
"""The ops of the tables that the forward of an OpInfo goes through (of svd_lowrank: besides others that are native)."""

GOOD, BAD = ("pass", "fallback", "unproven"), ("fail", "error")
CLASSES = {
    "same", "lost_proof", "fell_back", "lost_coverage", "regressed", "proven", "came_home", "fallback_changed",
    "gained_coverage", "now_fails", "fixed", "changed_failure", "worse", "better",
}  # fmt: skip
"""All that support tables alone can produce between forward tests."""


@dataclass(frozen=True)
class End:
    """How a test ends: the outcome, and what must be equal for two such ends to be the same."""

    outcome: str
    because: object = ""


def read(name: str) -> dict[str, Any]:
    return tomllib.loads((PACKAGE / name).read_text())


def holds(entry: Mapping[str, Any], release: str, **wanted: str) -> bool:
    return all(
        value in entry.get(key, [value]) for key, value in {"releases": release, **wanted}.items()
    )  # fmt: skip


def ends(op: str, dtype: str, release: str) -> End:
    """The forward test of an op by the coverage file first, then by the support table."""
    for entry in read("coverage/sim.toml")["skip"]:
        if holds(entry, release, ops=op, dtypes=dtype, kinds="forward"):
            return End("skip_coverage")
    found = {each: mode(each, dtype, release) for each in CALLS[op]}
    by_mode = {
        name: {each for each, (of, _) in found.items() if of == name} for name in {of for of, _ in found.values()}
    }
    if refused := by_mode.get("refused"):
        return End("error", sorted(found[each] for each in refused))
    if "wrong" in by_mode:
        return End("fail")
    if left := by_mode.get("fallback", set()) | by_mode.get("failing", set()):
        return End("fallback", frozenset(left))
    return End("pass" if "native" in by_mode else "unproven")


def mode(op: str, dtype: str, release: str) -> tuple[str, str]:
    """(mode, reason) of one op: entries that name it before those for every op."""
    entries = [each for each in read("simulator/tables/sim.toml")["entry"] if holds(each, release, dtypes=dtype)]
    named = [each for each in entries if op in each.get("ops", ())]
    every = [each for each in entries if "ops" not in each]
    return next(((each["mode"], each["reason"]) for each in (*named, *every)), ("native", ""))


def changed(a: End, b: End) -> str:
    """The class of a pair, as docs/outcomes.md describes them."""
    if a.outcome == b.outcome:
        if a.because == b.because:
            return "same"
        return "fallback_changed" if a.outcome == "fallback" else "changed_failure"
    if b.outcome == "skip_coverage":
        return "lost_coverage"
    if a.outcome == "skip_coverage":
        return "gained_coverage" if b.outcome in GOOD else "now_fails"
    if a.outcome in BAD:
        return "fixed" if b.outcome in GOOD else {"fail": "worse", "error": "better"}[b.outcome]
    if b.outcome in BAD:
        return "regressed"
    if b.outcome == "unproven":
        return "lost_proof"
    return {("pass", "fallback"): "fell_back", ("unproven", "fallback"): "fell_back", ("unproven", "pass"): "proven",
            ("fallback", "pass"): "came_home"}[a.outcome, b.outcome]  # fmt: skip


def check(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Compare the forward tests among the rows of a comparison with the tables; their classes by test."""
    found, derived = {}, {}
    for row in rows:
        _, kind, op, dtype = row["id"].split("::")
        if kind == "forward" and op in CALLS:
            a, b = (ends(op, dtype, release) for release in RELEASES)
            derived[f"{op} {dtype}"] = (a.outcome, b.outcome, changed(a, b))
            found[f"{op} {dtype}"] = (row["a"]["outcome"], row["b"]["outcome"], row["class"])
    assert found == derived
    return {test: word for test, (_, _, word) in found.items()}


@pytest.mark.slow
def test_every_forward_test_changes_between_the_releases_as_the_tables_say(database_url: str, tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": database_url, "CONFORMANCE_HOME": str(tmp_path)}

    def call(*arguments: str) -> str:
        done = subprocess.run([*COMMAND, *arguments], env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    planned = [
        json.loads(call("run", "--target", "sim", "--release", each, "--suite", "ops", "--ops", ",".join(CALLS),
                        "-n", "2", "--format", "json"))["planned"]
        for each in RELEASES
    ]  # fmt: skip
    rows = [
        json.loads(line)
        for line in call("diff", *RELEASES, "--format", "ndjson", "--classes", ",".join(sorted(CLASSES))).splitlines()
    ]
    assert [len(rows)] * 2 == planned
    classes = check(rows)
    assert set(classes.values()) == CLASSES
    assert len(classes) > 45
