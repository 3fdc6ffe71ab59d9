"""Entries against a plan: those that match nothing, are never reached, or contradict each other."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from conformance.expectations.coverage import Index
from conformance.expectations.entries import EXPECT, SKIP, Conditions, Entry, Matcher, parts, problems
from conformance.expectations.files import Written
from conformance.expectations.lint import Finding, Source
from conformance.outcomes import TestId
from conformance.plan import PlannedTest

_SHOWN: Final = 3


@dataclass(slots=True)
class _Met:
    """What a plan has of one entry: tests that match, those that it decides, the values of its lists that occur."""

    matcher: Matcher
    tests: int = 0
    reached: int = 0
    before: Counter[str] = field(default_factory=Counter)
    values: dict[str, set[str]] = field(default_factory=dict)

    def meet(self, test: TestId) -> None:
        """Take a test that matches."""
        self.tests += 1
        for name, listed in self.matcher.wanted:
            self.values.setdefault(name, set()).update(listed.intersection(parts(name, test)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Planned tests to hold entries against, release by release, on one day and under one torch.

    `closed`: there are no releases but these.
    """

    tests: Sequence[PlannedTest]
    releases: tuple[str, ...]
    torch: str
    today: date
    closed: bool = False

    def under(self, release: str) -> Conditions:
        """The conditions of one release."""
        return Conditions(release=release, torch=self.torch, today=self.today)

    @property
    def suites(self) -> frozenset[str]:
        """The suites that were planned: of others nothing can be said."""
        return frozenset(each.id.suite for each in self.tests)


def against(sources: Sequence[Source], plan: Plan) -> tuple[list[Finding], list[str]]:
    """The findings, and the ids of entries of which this plan says nothing: of another suite, release or torch."""
    sound = {each.entry.id: (source, each) for source in sources for each in source.entries if _sound(each)}
    judged = [each for each in sound.values() if _judged(each[1], plan)]
    met = {name: _Met(matcher=Matcher.of(each[1].entry)) for name, each in sound.items()}
    clashes: dict[tuple[str, str], list[str]] = {}
    for release in plan.releases:
        _meet(plan, release, [each for _, each in sound.values()], met, clashes)
    found = [finding for source, each in judged for finding in _found(source, each, met[each.entry.id], plan)]
    found += [_clash(sound, skip, expect, tests) for (skip, expect), tests in clashes.items()]
    known = {each.entry.id for _, each in judged}
    return found, [name for name, each in sound.items() if name not in known and not _over(each[1], plan)]


def _sound(written: Written) -> bool:
    return not any(problems(written.section, written.entry))


def _over(written: Written, plan: Plan) -> bool:
    return plan.under("").expired(written.entry)


def _judged(written: Written, plan: Plan) -> bool:
    entry = written.entry
    releases = [each for each in plan.releases if plan.under(each).hold(entry)]
    if not releases:
        # A release that does not exist is a finding of its own.
        return bool(entry.releases) and plan.closed and plan.under(entry.releases[0]).hold(entry)
    if entry.tests:
        return any(each.partition("::")[0] in plan.suites for each in entry.tests)
    upstream = entry.files or entry.classes or any(each.startswith("test") for each in entry.kinds)
    return not upstream or "upstream" in plan.suites


def _meet(
    plan: Plan, release: str, written: Sequence[Written], met: Mapping[str, _Met],
    clashes: dict[tuple[str, str], list[str]],
) -> None:  # fmt: skip
    holding = [each for each in written if plan.under(release).hold(each.entry)]
    skips, expects = (Index(each.entry for each in holding if each.section == name) for name in (SKIP, EXPECT))
    for test in plan.tests:
        skipped, expected = skips.all(test.id), expects.all(test.id)
        ruled = _ruled(test)
        _reach(skipped, test.id, ruled, met)
        _reach(expected, test.id, ruled or _expected_upstream(test), met)
        if skipped and expected and not ruled:
            clashes.setdefault((skipped[0].id, expected[0].id), []).append(test.key)


def _reach(entries: Sequence[Entry], test: TestId, ruled: bool, met: Mapping[str, _Met]) -> None:
    """The first entry decides, unless PyTorch's own rules have decided already."""
    for place, entry in enumerate(entries):
        seen = met[entry.id]
        seen.meet(test)
        if ruled:
            seen.before["what PyTorch itself says"] += 1
        elif place:
            seen.before[repr(entries[0].id)] += 1
        else:
            seen.reached += 1


def _ruled(test: PlannedTest) -> bool:
    """Whether something other than an entry settled the test while it was planned."""
    return test.decided is not None and not test.decided.rule.startswith("coverage:")


def _expected_upstream(test: PlannedTest) -> bool:
    return test.expected is not None and not test.expected.rule.startswith("expect:")


def _found(source: Source, written: Written, seen: _Met, plan: Plan) -> Iterator[Finding]:
    entry, suites = written.entry, ", ".join(sorted(plan.suites))
    for each in entry.releases if plan.closed else ():
        if each not in plan.releases:
            yield source.finding(written, "dead", f"names the release {each!r}: there is no such one")
    if not seen.tests:
        yield source.finding(
            written, "dead", f"matches none of the {len(plan.tests):,} planned tests of suite {suites}"
        )
        return
    for name, listed in seen.matcher.wanted:
        gone = [each for each in sorted(listed - seen.values[name]) if _known(name, each, plan)]
        if gone:
            more = f" and {len(gone) - _SHOWN:,} more" if len(gone) > _SHOWN else ""
            shown = ", ".join(map(repr, gone[:_SHOWN]))
            yield source.finding(written, "dead", f"has {shown}{more} in {name}, with which no planned test matches")
    if not seen.reached:
        first, _ = seen.before.most_common(1)[0]
        yield source.finding(written, "shadowed", f"is never reached: {first} comes first wherever it matches")


def _known(name: str, value: str, plan: Plan) -> bool:
    """Whether this plan can tell of a value: identities of suites that were not planned are left alone."""
    return name != "tests" or value.partition("::")[0] in plan.suites


def _clash(places: Mapping[str, tuple[Source, Written]], skip: str, expect: str, tests: Sequence[str]) -> Finding:
    source, written = places[expect]
    does = "probes" if places[skip][1].entry.mode == "probe" else "skips"
    some = f"{len(set(tests)):,} tests" if len(set(tests)) > 1 else "1 test"
    text = f"expects the failure of {some} that {skip!r} {does}, as {tests[0]}: an expectation there has no effect"
    return source.finding(written, "contradictory", text)
