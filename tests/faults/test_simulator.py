"""The real suite on the simulated device with injected faults: the supervisor tells them apart."""

from collections import Counter
from pathlib import Path

import pytest

from conformance.outcomes import Outcome
from conformance.record import read_results
from tests.faults.harness import Lab, shown

FAULTS = """
[[fault]]
kind = "crash"
op = "sin"
dtypes = ["float32"]
times = 2

[[fault]]
kind = "poison"
op = "tan"
times = 1

[[fault]]
kind = "crash"
op = "exp"
times = 1

[[fault]]
kind = "hang"
op = "cosh"
times = 1

[[fault]]
kind = "wrong"
op = "neg"
dtypes = ["float32"]
"""


@pytest.mark.slow
def test_faults_of_the_simulated_device_end_as_what_they_are(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.plan()
    (tmp_path / "faults.toml").write_text(FAULTS)
    monkeypatch.setenv("CONFORMANCE_SIM_FAULTS", str(tmp_path / "faults.toml"))
    monkeypatch.setenv("CONFORMANCE_SIM_STATE", str(lab.state))
    options = ("--ops", "sin,tan,exp,cosh,neg", "-n", "1", "--timeout", "6", "--no-ingest")
    done = lab.call("run", "--target", "sim", *options, limit=240)
    assert done.code == 0, done.err
    results = read_results(lab.folders()[0])
    by_op = {op: [each for each in results if each.test.id.op == op] for op in ("sin", "tan", "exp", "cosh", "neg")}
    assert Counter(map(shown, by_op["sin"]))["crash"] == 1, "one test died, and again when it was alone"
    assert Counter(map(shown, by_op["exp"]))["crash flaky"] == 1, "one test died once"
    assert Counter(map(shown, by_op["cosh"]))["timeout"] == 1
    spoiled = [each for each in by_op["tan"] if Outcome.INFRA in [made.outcome for made in each.attempts]]
    assert len(spoiled) == 1, "the device was reset, and the test run again"
    assert spoiled[0].outcome is not Outcome.INFRA
    wrong = {each.test.id.dtype for each in by_op["neg"] if each.outcome is Outcome.FAIL}
    assert "float32" in wrong
    assert "bfloat16" not in wrong
    assert Outcome.NOT_RUN not in {each.outcome for each in results}
