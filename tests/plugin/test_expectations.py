"""Coverage and expectation files in a plain pytest session: probing, and failures that must be of the kind foreseen."""

from pathlib import Path

import pytest

from conformance.outcomes import Outcome
from tests.plugin.sessions import FILES, session

OWN = """
[[expect]]
id = "wrong"
tests = ["upstream::upstream_style/answers::TestAnswers::test_wrong"]
reason = "known"
outcome = "fail"

[[expect]]
id = "raises"
files = ["upstream_style/answers"]
tests = ["upstream::upstream_style/answers::TestAnswers::test_raises"]
reason = "known"
exception = "KeyError"

[[skip]]
id = "own-probe"
classes = ["TestAnswers"]
tests = ["upstream::upstream_style/answers::TestAnswers::test_refused"]
reason = "not yet"
mode = "probe"
"""


def test_a_broken_file_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.toml"
    own.write_text(OWN.replace('reason = "known"', 'reason = ""', 1))
    monkeypatch.setenv("CONFORMANCE_EXPECTATIONS", str(own))
    done = session(tmp_path, str(FILES / "answers.py"))
    assert done.code == pytest.ExitCode.USAGE_ERROR
    assert f"entry 'wrong' of the coverage file {own} has an empty reason: say why" in done.output
    assert "Traceback" not in done.output


@pytest.mark.slow
def test_a_session_probes_and_expects_as_a_supervised_run_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.toml"
    own.write_text(OWN)
    monkeypatch.setenv("CONFORMANCE_EXPECTATIONS", str(own))
    monkeypatch.setenv("CONFORMANCE_PROBE_COVERAGE", "1")
    done = session(tmp_path, str(FILES / "answers.py"), "-k", "test_wrong or test_raises or test_refused or geqrf")
    found = {each.test.id.name: each for each in done.results().values()}
    assert {name: each.outcome for name, each in found.items()} == {
        "test_wrong": Outcome.XFAIL, "test_raises": Outcome.ERROR, "test_refused": Outcome.SKIP_COVERAGE,
        "test_names_geqrf": Outcome.UNPROVEN, "test_forward_geqrf_float32": Outcome.SKIP_COVERAGE,
    }, done.output  # fmt: skip
    assert found["test_wrong"].shown.rule == "expect:wrong"
    assert (
        "not the failure that expect:raises foresees: that is raised as KeyError" in found["test_raises"].shown.message
    )
    assert found["test_refused"].shown.rule == "coverage:own-probe"
    assert [each.outcome for each in found["test_refused"].attempts] == [Outcome.ERROR]
    assert "coverage:geqrf would have skipped this test" in found["test_names_geqrf"].shown.message
    assert "probed: error: AttributeError" in found["test_forward_geqrf_float32"].shown.message
    header = done.folder.read_header()
    assert header.environment["expectations.files"] == str(own)
    assert header.environment["expectations.probe"] == "yes"
