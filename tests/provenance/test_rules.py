"""Rules explain skips by who skipped first and by text second."""

import time

import pytest

from conformance.outcomes import Outcome
from conformance.provenance import rule_files
from conformance.provenance.rules import LONGEST_TEXT, NO_RULE, Origin, Skip, explain, first

RULES = rule_files.read(rule_files.SHIPPED)

EXAMPLES = [
    (Skip(origin=Origin.GATE, function="skip_exception_type", reason="not implemented: x"), "backend:not-implemented"),
    (Skip(origin=Origin.GATE, function="slowTest.<locals>.wrapper", reason="test is slow; run with"), "upstream:slow"),
    (Skip(origin=Origin.GATE, function="check_if_enable", reason="test is fast; we disabled it"), "upstream:slow"),
    (Skip(origin=Origin.GATE, function="check_if_enable", reason="Test is disabled because"), "upstream:disabled-list"),
    (Skip(origin=Origin.GATE, function="deviceCountAtLeast.__call__", reason="fewer than 2"), "upstream:device-count"),
    (
        Skip(origin=Origin.GATE, function="_has_sufficient_memory", reason="Unknown device type"),
        "upstream:memory-unknown",
    ),
    (Skip(origin=Origin.GATE, function="_has_sufficient_memory", reason="Need psutil to"), "upstream:library"),
    (
        Skip(origin=Origin.GATE, function="largeTensorTest.<locals>", reason="Insufficient cpu memory"),
        "upstream:memory",
    ),
    (Skip(origin=Origin.GATE, function="skipIfTorchDynamo.<locals>", reason="policy"), "upstream:mode"),
    (Skip(origin=Origin.GATE, function="lazy_skip_if.<locals>", reason="does not work under pytest"), "upstream:mode"),
    (Skip(origin=Origin.GATE, function="lazy_skip_if.<locals>", reason="skipIfXpu: no"), "upstream:other-device"),
    (Skip(origin=Origin.GATE, function="lazy_skip_if.<locals>", reason="build with XNNPACK"), "upstream:library"),
    (Skip(origin=Origin.GATE, function="download_file", reason="no route"), "upstream:network"),
    (Skip(origin=Origin.GATE, function="onlyOn.__call__", reason="Only runs on cuda"), "upstream:device-gate"),
    (
        Skip(origin=Origin.GATE, function="skipIf.__call__.x", reason="doesn't work on privateuse1"),
        "upstream:device-gate",
    ),
    (Skip(origin=Origin.GATE, function="skipIf.__call__.x", reason="cuSOLVER not available"), "upstream:library"),
    (Skip(origin=Origin.BODY, reason="no", turned="ModuleNotFoundError"), "upstream:library"),
    (Skip(origin=Origin.BODY, reason="cannot", turned="RuntimeError"), "backend:exception-to-skip"),
    (Skip(origin=Origin.BODY, reason="CUDA failed", turned="AssertionError"), "backend:exception-to-skip"),
    (Skip(origin=Origin.BACKEND, reason=""), "backend:skip"),
    (Skip(origin=Origin.BODY, reason="not supported on neuron"), "backend:lacks"),
    (Skip(origin=Origin.BODY, reason="needs at least two devices"), "upstream:device-count"),
    (Skip(origin=Origin.DECORATOR, reason="CUDA not available"), "upstream:other-device"),
    (Skip(origin=Origin.DECORATOR, reason="no dill"), "upstream:library"),
    (Skip(origin=Origin.DECORATOR, reason="Test requires OneDNN/MKLDNN"), "upstream:library"),
    (Skip(origin=Origin.BODY, reason="too slow for CI"), "upstream:slow"),
    (Skip(origin=Origin.OPINFO, reason="too slow"), "upstream:opinfo"),
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
    assert explain(skip, RULES)[1] == rule


def test_rules_only_ever_name_skips_and_none_is_left_unexplained_by_a_rule() -> None:
    skips = {Outcome.SKIP_ELIGIBILITY, Outcome.SKIP_ENVIRONMENT, Outcome.SKIP_COVERAGE}
    assert {each.outcome for each in RULES} == skips
    assert explain(Skip(origin=Origin.ELSEWHERE, reason=""), RULES) == (Outcome.SKIP_UNCLASSIFIED, NO_RULE)


def test_a_text_alone_explains_nothing() -> None:
    for skip, _ in EXAMPLES:
        assert explain(Skip(origin=Origin.ELSEWHERE, reason=skip.reason, function=skip.function), RULES)[1] == NO_RULE


def test_a_hostile_text_holds_no_rule_up() -> None:
    texts = ["not " * 100_000, "needs " + "a" * 1_000_000, "no\n" * 300_000]
    begun = time.process_time()
    for text in texts:
        for origin in Origin:
            explain(Skip(origin=origin, reason=text, function=text[:10_000]), RULES)
    assert time.process_time() - begun < 2


def test_only_the_beginning_of_a_text_is_looked_at() -> None:
    text = "x" * LONGEST_TEXT + " requires scipy"
    found = first(Skip(origin=Origin.DECORATOR, reason=text), RULES)
    assert found is not None
    assert found.id == "upstream:decorator"


def test_what_is_recorded_of_a_skip_names_the_entry_before_the_code() -> None:
    skip = Skip(origin=Origin.OPINFO, reason="x", function="f", entry="OpInfo 'add'", where="a.py:3", turned="E")
    assert (skip.source.who, skip.source.code, skip.source.where, skip.source.turned) == (
        "opinfo", "OpInfo 'add'", "a.py:3", "E"
    )  # fmt: skip
    assert Skip(origin=Origin.GATE, reason="x", function="f").source.code == "f"
