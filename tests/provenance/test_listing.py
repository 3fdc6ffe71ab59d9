"""Skips are listed by text and origin; one that no rule explains comes with a rule to complete."""

from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.outcomes import Outcome, Source
from conformance.provenance import rule_files
from conformance.provenance.listing import Seen, Text, stanza, texts
from conformance.provenance.rules import NO_RULE, Origin, Skip, explain

HOSTILE = "a\x7f\"'\\\x1b[31m(b+)*{2}\n[[rule]]\u2028é"


def unexplained(text: str, key: str = "k", code: str = "Plugin.skip") -> Seen:
    note = f" (raised in {code})"
    source = Source(who="elsewhere", code=code, where="plugin.py:3")
    return Seen(key=key, outcome=Outcome.SKIP_UNCLASSIFIED, rule=NO_RULE, text=text + note, source=source)


def one(seen: Seen) -> Text:
    (found,) = texts([seen])
    return found


def test_equal_texts_of_one_origin_are_counted_together_and_what_is_no_skip_is_left_out() -> None:
    gate = Source(who="gate", code="onlyOn", where="test/test_a.py:1")
    other = Source(who="gate", code="onlyOn", where="test/test_a.py:99")
    seen = [
        Seen(key="a", outcome=Outcome.PASS, rule="", text=""),
        Seen(key="b", outcome=Outcome.SKIP_ELIGIBILITY, rule="upstream:device-gate", text="no cuda", source=gate),
        Seen(key="c", outcome=Outcome.SKIP_ELIGIBILITY, rule="upstream:device-gate", text="no cuda", source=other),
        Seen(key="d", outcome=Outcome.SKIP_COVERAGE, rule="coverage:qr", text="no QR"),
        unexplained("odd", "e"),
    ]  # fmt: skip
    found = texts(seen)
    assert [(each.count, each.rule, each.origin, each.text, each.example) for each in found] == [
        (2, "upstream:device-gate", "gate", "no cuda", "b"),
        (1, "coverage:qr", "", "no QR", "d"),
        (1, "no-rule", "elsewhere", "odd", "e"),
    ]


def test_a_skip_that_today_s_rules_explain_otherwise_says_so() -> None:
    source = Source(who="body", turned="RuntimeError")
    found = one(Seen(key="a", outcome=Outcome.SKIP_ELIGIBILITY, rule="old", text="x", source=source))
    assert found.now == (Outcome.SKIP_COVERAGE, "backend:exception-to-skip")
    assert one(unexplained("odd")).now is None
    foreign = Source(who="someone else")
    assert one(Seen(key="a", outcome=Outcome.SKIP_ELIGIBILITY, rule="old", text="x", source=foreign)).now is None


@pytest.mark.parametrize("text", ["left out by our plugin (see #12)", "", HOSTILE, "x" * 5_000])
def test_the_stanza_completed_is_a_rule_that_explains_the_skip(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rules.toml"
    made = stanza(one(unexplained(text)))
    path.write_text(made.replace('outcome = ""', 'outcome = "skip_environment"').replace('why = ""', 'why = "ours"'))
    skip = Skip(origin=Origin.ELSEWHERE, reason=text, function="Plugin.skip")
    (rule,) = rule_files.read(path)
    assert explain(skip, [rule]) == (Outcome.SKIP_ENVIRONMENT, rule.id)
    assert explain(Skip(origin=Origin.BODY, reason=text, function="Plugin.skip"), [rule])[1] == NO_RULE


def test_the_stanza_as_it_is_printed_decides_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(stanza(one(unexplained("odd"))))
    with pytest.raises(UsageError, match=r"empty `why`|unknown outcome ''"):
        rule_files.read(path)


def test_there_is_no_stanza_where_a_rule_had_nothing_to_hold_on_to() -> None:
    bare = Seen(key="a", outcome=Outcome.SKIP_UNCLASSIFIED, rule=NO_RULE, text="", source=Source(who="elsewhere"))
    assert stanza(one(bare)) == ""
    unknown = Seen(key="a", outcome=Outcome.SKIP_UNCLASSIFIED, rule=NO_RULE, text="odd")
    assert stanza(one(unknown)) == ""
    known = Seen(key="a", outcome=Outcome.SKIP_COVERAGE, rule="backend:skip", text="x", source=Source(who="backend"))
    assert stanza(one(known)) == ""
