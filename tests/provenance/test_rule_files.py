"""A user's rules stand before the shipped ones; a file that cannot work is refused in one sentence."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.provenance import rule_files
from conformance.provenance.rules import NO_RULE, Origin, Skip, explain

SOUND = """
[[rule]]
id = "mine:plugin"
outcome = "skip_environment"
why = "our plugin leaves it out"
origins = ["elsewhere"]
function = 'Ours\\.skip'
reason = "left out"
examples = [{ origin = "elsewhere", function = "Ours.skip_one", reason = "it is left out" }]
"""
SEEN = Skip(origin=Origin.ELSEWHERE, function="Ours.skip_all", reason="All Left Out")


@pytest.fixture(autouse=True)
def _read_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("CONFORMANCE_RULES", raising=False)
    rule_files.every.cache_clear()
    yield
    rule_files.every.cache_clear()


def written(folder: Path, text: str) -> Path:
    path = folder / "rules.toml"
    path.write_text(text)
    return path


def test_a_rule_of_the_user_explains_what_no_shipped_rule_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert explain(SEEN) == (Outcome.SKIP_UNCLASSIFIED, NO_RULE)
    rule_files.every.cache_clear()
    monkeypatch.setenv("CONFORMANCE_RULES", str(written(tmp_path, SOUND)))
    assert explain(SEEN) == (Outcome.SKIP_ENVIRONMENT, "mine:plugin")
    assert explain(Skip(origin=Origin.BACKEND, reason="")) == (Outcome.SKIP_COVERAGE, "backend:skip")


def test_rules_are_read_once_so_that_a_test_which_changes_the_environment_changes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explain(SEEN)
    monkeypatch.setenv("CONFORMANCE_RULES", str(tmp_path / "nowhere.toml"))
    assert explain(SEEN)[1] == NO_RULE


def test_a_rule_of_the_user_may_not_take_a_shipped_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFORMANCE_RULES", str(written(tmp_path, SOUND.replace("mine:plugin", "upstream:slow"))))
    with pytest.raises(UsageError, match=r"rule 'upstream:slow' of .*rules.toml has the id of a shipped rule"):
        rule_files.every()


@pytest.mark.parametrize(
    ("change", "remark"),
    [
        (("why =", "because ="), r"cannot be read: .*`because`"),
        (('why = "our plugin leaves it out"', 'why = " "'), "has an empty `why`"),
        (("mine:plugin", "coverage:mine"), "has no fit id"),
        (("mine:plugin", "Mine, all"), "has no fit id"),
        (("skip_environment", "skip_for_fun"), "unknown outcome 'skip_for_fun'"),
        (("skip_environment", "pass"), "names the outcome 'pass'"),
        (("skip_environment", "skip_unclassified"), "names the outcome 'skip_unclassified'"),
        (('["elsewhere"]', '["nobody"]'), "has the origin 'nobody'"),
        (('["elsewhere"]', "[]"), "has no origin"),
        (('"left out"', '"left (out"'), "`reason` of rule 'mine:plugin' of .* is no regular expression"),
        (("Ours\\.skip", "(Ours)*"), "`function` of rule 'mine:plugin' of .* could take for ever"),
        (('reason = "it is', 'reason = "nothing is'), ""),
        (('reason = "it is left out"', 'reason = "gone"'), "no rule matches its example 'gone'"),
        (("examples = [{", "examples = [] #"), "has no example"),
        (("[[rule]]", "[rule"), "cannot be read"),
    ],
    ids=lambda each: each[1] if isinstance(each, tuple) else "",
)
def test_a_broken_file_is_refused_in_one_sentence(tmp_path: Path, change: tuple[str, str], remark: str) -> None:
    path = written(tmp_path, SOUND.replace(*change))
    if not remark:
        assert len(rule_files.read(path)) == 1
        return
    with pytest.raises(UsageError, match=remark) as caught:
        rule_files.read(path)
    assert str(path) in str(caught.value)


def test_a_rule_that_an_earlier_one_hides_is_refused(tmp_path: Path) -> None:
    hidden = SOUND.replace("mine:plugin", "mine:other").replace("Ours\\.skip", "Ours\\.skip_one")
    with pytest.raises(UsageError, match=r"rule 'mine:other' of .*: rule 'mine:plugin' matches first"):
        rule_files.read(written(tmp_path, SOUND + hidden))


def test_an_id_stands_for_one_outcome(tmp_path: Path) -> None:
    other = SOUND.replace("skip_environment", "skip_coverage").replace("left out", "gone")
    with pytest.raises(UsageError, match=r"rule 'mine:plugin' of .* has two outcomes"):
        rule_files.read(written(tmp_path, SOUND + other))


@pytest.mark.parametrize("pattern", ["", ".*", "x?"])
def test_a_rule_that_would_explain_everything_that_nobody_known_raised_is_refused(tmp_path: Path, pattern: str) -> None:
    text = SOUND.replace("Ours\\.skip", pattern).replace('reason = "left out"', f'reason = "{pattern}"')
    with pytest.raises(UsageError, match="explains every skip that nobody known raised"):
        rule_files.read(written(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFORMANCE_RULES", str(tmp_path / "nowhere.toml"))
    with pytest.raises(UsageError, match=r"the rules in .*nowhere.toml cannot be read"):
        rule_files.every()


def test_a_run_is_resumed_under_the_same_rules_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rule_files.digest() == ""
    path = written(tmp_path, SOUND)
    monkeypatch.setenv("CONFORMANCE_RULES", str(path))
    first = rule_files.digest()
    written(tmp_path, SOUND.replace("leaves it out", "leaves it out, always"))
    assert first
    assert rule_files.digest() not in ("", first)
