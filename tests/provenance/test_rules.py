"""Rules explain skips by who skipped first and by text second; the table itself is linted."""

import pytest

from conformance.outcomes import Outcome
from conformance.provenance.rules import NO_RULE, RULES, Origin, Skip, explain

EXAMPLES = [
    (Skip(origin=Origin.GATE, function="skip_exception_type", reason="not implemented: x"), "backend:not-implemented"),
    (Skip(origin=Origin.GATE, function="slowTest.<locals>.wrapper", reason="test is slow; run with"), "upstream:slow"),
    (Skip(origin=Origin.GATE, function="check_if_enable", reason="test is fast; we disabled it"), "upstream:slow"),
    (Skip(origin=Origin.GATE, function="check_if_enable", reason="Test is disabled because"), "upstream:disabled-list"),
    (Skip(origin=Origin.GATE, function="deviceCountAtLeast.__call__", reason="fewer than 2"), "upstream:device-count"),
    (Skip(origin=Origin.GATE, function="_has_sufficient_memory", reason="Unknown device type"), "upstream:memory"),
    (Skip(origin=Origin.GATE, function="skipIfTorchDynamo.<locals>", reason="policy"), "upstream:mode"),
    (Skip(origin=Origin.GATE, function="lazy_skip_if.<locals>", reason="does not work under pytest"), "upstream:mode"),
    (Skip(origin=Origin.GATE, function="lazy_skip_if.<locals>", reason="skipIfXpu: no"), "upstream:other-device"),
    (Skip(origin=Origin.GATE, function="lazy_skip_if.<locals>", reason="build with XNNPACK"), "upstream:library"),
    (Skip(origin=Origin.GATE, function="download_file", reason="no route"), "upstream:network"),
    (Skip(origin=Origin.GATE, function="onlyOn.__call__", reason="Only runs on cuda"), "upstream:device-gate"),
    (Skip(origin=Origin.BODY, reason="no", turned="ModuleNotFoundError"), "upstream:library"),
    (Skip(origin=Origin.BODY, reason="cannot", turned="RuntimeError"), "backend:exception-to-skip"),
    (Skip(origin=Origin.BACKEND, reason=""), "backend:skip"),
    (Skip(origin=Origin.BODY, reason="needs at least two devices"), "upstream:device-count"),
    (Skip(origin=Origin.DECORATOR, reason="CUDA not available"), "upstream:other-device"),
    (Skip(origin=Origin.DECORATOR, reason="no dill"), "upstream:library"),
    (Skip(origin=Origin.DECORATOR, reason="Test requires OneDNN/MKLDNN"), "upstream:library"),
    (Skip(origin=Origin.BODY, reason="too slow for CI"), "upstream:slow"),
    (Skip(origin=Origin.BODY, reason="not enough free memory"), "upstream:memory"),
    (Skip(origin=Origin.DECORATOR, reason="fails on macOS"), "upstream:platform"),
    (Skip(origin=Origin.OPINFO, reason="Skipped!"), "upstream:opinfo"),
    (Skip(origin=Origin.DECORATOR, reason=""), "upstream:decorator"),
    (Skip(origin=Origin.MARKER, reason=""), "upstream:marker"),
    (Skip(origin=Origin.GATE, function="first_sample", reason="Need at least 1 sample input"), "upstream:gate"),
    (Skip(origin=Origin.BODY, reason=""), "upstream:test-body"),
    (Skip(origin=Origin.MODULE, reason=""), "upstream:module"),
    (Skip(origin=Origin.ELSEWHERE, reason="Only runs on cuda"), NO_RULE),
]


@pytest.mark.parametrize(("skip", "rule"), EXAMPLES, ids=lambda each: each if isinstance(each, str) else each.reason)
def test_each_skip_is_explained_by_its_rule(skip: Skip, rule: str) -> None:
    assert explain(skip)[1] == rule


def test_every_rule_is_the_first_to_match_one_of_the_examples() -> None:
    first = {next((each for each in RULES if each.matches(skip)), None) for skip, _ in EXAMPLES}
    assert not [each.id for each in RULES if each not in first]


def test_an_id_always_stands_for_the_same_outcome() -> None:
    assert len({(each.id, each.outcome) for each in RULES}) == len({each.id for each in RULES})


def test_rules_only_ever_name_skips() -> None:
    skips = {Outcome.SKIP_ELIGIBILITY, Outcome.SKIP_ENVIRONMENT, Outcome.SKIP_COVERAGE}
    assert {each.outcome for each in RULES} == skips
    assert explain(Skip(origin=Origin.ELSEWHERE, reason="")) == (Outcome.SKIP_UNCLASSIFIED, NO_RULE)


def test_a_text_alone_explains_nothing() -> None:
    for skip, _ in EXAMPLES:
        assert explain(Skip(origin=Origin.ELSEWHERE, reason=skip.reason, function=skip.function))[1] == NO_RULE
