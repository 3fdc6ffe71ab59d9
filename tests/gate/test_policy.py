"""A policy is strictly read: what is unknown or wrong is told with its line, and sections hold for what they name."""

from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.gate import policy
from conformance.pairs import BLOCKING, PairClass


def test_the_shipped_policy_has_every_rule_and_blocks_what_the_vocabulary_says() -> None:
    assert {key for key in policy.shipped().table if key in policy.RULES} == set(policy.RULES)
    rules = policy.shipped().rules("sim", "ops")
    assert rules.block == BLOCKING
    assert (rules.flaky, rules.max_unclassified, rules.max_lost_coverage) == ("block", 0, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flaky = 'block'\nmax_infra = 2\n", "p.toml:2: max_infra is 2: write a share from 0 to 1"),
        ("flaky = 'block'\n\nmax_infr = 0.1\n", "p.toml:3: unknown key 'max_infr': choose from block, flaky"),
        ("block = ['regressed', 'broken']", "p.toml:1: block is ['regressed', 'broken']: write a list of classes"),
        ("max_unclassified = true", "p.toml:1: max_unclassified is True: write a whole number"),
        ("min_comparable = nan", "p.toml:1: min_comparable is nan: write a share"),
        ("max_infra = 0.1\nmax_infra = 0.2", "p.toml:2: this is no TOML"),
        ("x = ", "p.toml:1: this is no TOML"),
        ("[suite.op]\nmax_infra = 0.1", "p.toml:1: unknown suite 'op': choose from"),
        ("[suite.ops]\nmax_infra = 0.1\nmax_infr = 3", "p.toml:3: unknown key 'max_infr'"),
        ("[target.sim]\n[target.sim.suite.ops]\nflaky = 'maybe'", "p.toml:3: flaky is 'maybe': write one of block"),
        ("[target.simm]\nflaky = 'block'", "p.toml:1: unknown target 'simm': choose from"),
        ("max_infra = 0.1\nsuite = 3", "p.toml:2: 'suite' must be a table of tables"),
        ("[suite]\nops = 3", "p.toml:2: 'ops' must be a table"),
        ("target.sim.max_infra = 7", "p.toml:1: max_infra is 7"),
        ("waivers = 'w.toml'", "p.toml:1: waivers is 'w.toml': write a list of files"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        policy.parse("p.toml", text)
    assert str(raised.value).startswith(said)


def test_the_more_special_section_holds_and_what_it_leaves_out_is_the_shipped_rule() -> None:
    text = """
    max_unclassified = 1
    max_infra = 0.5
    [target.sim]
    max_unclassified = 2
    [suite.ops]
    max_unclassified = 3
    block = ["regressed"]
    [target.sim.suite.ops]
    max_unclassified = 4
    """
    found = policy.parse("p", text)
    assert found.rules("sim", "ops").max_unclassified == 4
    assert found.rules("cpu", "ops").max_unclassified == 3
    assert found.rules("sim", "models").max_unclassified == 2
    assert found.rules("cpu", "models").max_unclassified == 1
    assert found.rules("sim", "ops").block == {PairClass.REGRESSED}
    assert found.rules("cpu", "models").block == BLOCKING
    assert found.rules("sim", "ops").max_infra == 0.5
    assert found.rules("sim", "ops").min_comparable == policy.shipped().rules("sim", "ops").min_comparable


def test_a_file_s_waivers_are_looked_for_beside_it_and_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_text("waivers = ['w/a.toml']")
    assert policy.load(path).waivers == (tmp_path / "w" / "a.toml",)
    with pytest.raises(UsageError, match=r"nothing\.toml' cannot be read: No such file"):
        policy.load(tmp_path / "nothing.toml")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not UTF-8"):
        policy.load(path)
