"""The gate on runs of the simulated device: what the tables say has changed, and injected faults, and nothing else."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from conformance import expectations
from conformance.expectations import Coverage
from conformance.outcomes import Outcome, TestId
from conformance.pairs import BLOCKING, PairClass, pair_class
from conformance.simulator import table
from conformance.simulator.table import DTYPE_BITS, Mode, Table
from tests.faults.harness import Lab

OPS: Final = ("nextafter", "heaviside", "histc", "erfinv", "cumprod", "ceil")
"""Each is one op of the device by the same name, so that the tables alone say what becomes of it."""

EAGER: Final = ("forward", "noncontiguous", "transposed")
OUTCOMES: Final = {
    Mode.NATIVE: Outcome.PASS, Mode.FALLBACK: Outcome.FALLBACK, Mode.FAILING: Outcome.FALLBACK,
    Mode.REFUSED: Outcome.ERROR, Mode.UNTRACKED: Outcome.UNPROVEN, Mode.WRONG: Outcome.FAIL,
}  # fmt: skip
FAULTS: Final = """
[[fault]]
kind = "wrong"
op = "ceil"
dtypes = ["float32"]

[[fault]]
kind = "error"
op = "cumprod"
dtypes = ["int64"]
text = "injected 7 times"
"""


def mode(found: Table, op: str, dtype: str) -> Mode:
    """What the support table says of an op: the first entry that names it, then the first for every op."""
    rules = [each for each in found.rules() if each[1] >> DTYPE_BITS[dtype] & 1]
    for name in (op, ""):
        for rule in rules:
            if rule[0] == name:
                return rule[2]
    return Mode.NATIVE


def foreseen(test: TestId, found: Table, claims: Coverage) -> Outcome:
    decided = claims.decide(test)
    return decided.outcome if decided else OUTCOMES[mode(found, test.op, test.dtype)]


def run(lab: Lab, release: str) -> str:
    done = lab.call("run", "--target", "sim", "--release", release, "--ops", ",".join(OPS), "-n", "1", limit=240)
    assert done.code == 0, done.err
    return lab.folders()[-1].path.name


def gate(lab: Lab, candidate: str, baseline: str) -> dict[str, Any]:
    done = lab.call("gate", "--candidate", candidate, "--baseline", baseline, "--format", "json")
    answer = done.document
    assert answer["exit"] == done.code, done.err
    return answer


def rows(lab: Lab, a: str, b: str, words: str) -> list[tuple[TestId, PairClass]]:
    done = lab.call("diff", a, b, "--format", "ndjson", "--classes", words)
    found = [json.loads(line) for line in done.out.splitlines()]
    return [(identity(each["id"]), PairClass[each["class"].upper()]) for each in found]


def identity(key: str) -> TestId:
    """Of suite ops: the file is the kind, the class the op, the name the dtype, or "all"."""
    suite, file, cls, name = key.split("::", 3)
    return TestId(suite=suite, file=file, cls=cls, name=name, op=cls, dtype=name, kind=file)


@pytest.mark.slow
def test_the_gate_names_what_the_tables_and_the_injected_faults_change_and_nothing_else(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(tmp_path, database_url)
    old, new = run(lab, "sim-1.0"), run(lab, "sim-1.1")
    the_tables(lab, old, new)
    (tmp_path / "faults.toml").write_text(FAULTS)
    monkeypatch.setenv("CONFORMANCE_SIM_FAULTS", str(tmp_path / "faults.toml"))
    monkeypatch.setenv("CONFORMANCE_SIM_STATE", str(tmp_path / "faults"))
    the_faults(lab, run(lab, "sim-1.1"), new)


def the_tables(lab: Lab, old: str, new: str) -> None:
    every = rows(lab, old, new, ",".join(each.word for each in PairClass))
    tables = [(table.load(each), expectations.load("sim", each)) for each in ("sim-1.0", "sim-1.1")]
    eager = {test: found for test, found in every if test.kind in EAGER}
    expected = {test: pair_class(*(foreseen(test, *each) for each in tables)) for test in eager}
    assert len(eager) > 30
    assert eager == expected
    assert {PairClass.REGRESSED, PairClass.FELL_BACK, PairClass.CAME_HOME, PairClass.GAINED_COVERAGE} < {
        *eager.values()
    }
    changed = {(test.op, test.dtype) for test, found in expected.items() if found is not PairClass.SAME}
    moved = {(test.op, test.dtype) for test, found in every if found is not PairClass.SAME and test.dtype != "all"}
    assert moved == changed, "nothing else of the same ops and dtypes has changed in any other kind of test"
    answer = gate(lab, "sim-1.1", "sim-1.0")
    assert answer["verdict"] == "blocked"
    assert answer["counts"]["effective"] == sum(found in BLOCKING for _, found in every)
    assert gate(lab, new, new)["exit"] == gate(lab, "sim-1.1", "sim-1.1")["exit"] == 0


def the_faults(lab: Lab, faulty: str, new: str) -> None:
    answer = gate(lab, faulty, new)
    assert (answer["exit"], answer["simulated"]) == (1, True)
    blocked = rows(lab, new, faulty, ",".join(each.word for each in BLOCKING))
    assert answer["counts"]["effective"] == len(blocked)
    named = {(test.op, test.dtype) for test, _ in blocked if test.dtype != "all"}
    assert named == {("ceil", "float32"), ("cumprod", "int64")}
    assert {test.op for test, _ in blocked} == {"ceil", "cumprod"}
    assert {test.kind for test, _ in blocked if test.op == "cumprod"} >= set(EAGER)
    assert "RuntimeError: injected N times" in " ".join(each["reason"] for each in answer["causes"])
    assert gate(lab, new, faulty)["exit"] == 0, "the other way round everything is fixed"
