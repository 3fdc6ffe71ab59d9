"""`conformance gate`: may this release ship, and if not, why."""

from dataclasses import replace
from pathlib import Path

import click

from conformance import store
from conformance.cli import screen, verdicts
from conformance.errors import UsageError
from conformance.expectations import today
from conformance.gate import markdown
from conformance.gate import policy as policies
from conformance.gate.answer import document, sentence
from conformance.gate.gating import Question, Verdict
from conformance.gate.gating import gate as judge
from conformance.gate.policy import Policy
from conformance.store import Store


@click.command()
@click.option("--candidate", required=True, metavar="R", help="Release, release@target or run that may ship.")
@click.option("--baseline", metavar="R", help="What it is compared with.  [default: the release before]")
@click.option("--best-of", type=click.IntRange(1, 50), metavar="N",
              help="Compare each test with its best outcome in the last N releases.")  # fmt: skip
@click.option("--policy", metavar="FILE", help="TOML file of rules.  [default: the shipped one]")
@click.option("--waivers", multiple=True, metavar="FILE", help="TOML file of waivers, beside those the policy names.")
@click.option("--suite", multiple=True, metavar="S", help="Judge only these suites.  [default: all that were run]")
@click.option("--rerun", type=click.IntRange(0, 20), default=0, show_default=True, metavar="N",
              help="Run what blocks again here, N times, each test alone: what is right once is flaky.")  # fmt: skip
@click.option("--again", multiple=True, metavar="RUN", help="A later run of blocked tests that tells the same.")
@click.option("--tests-of", "cause", default="", metavar="CAUSE", help="Print the tests of one cause and nothing else.")
@click.option("--format", "form", type=click.Choice(["table", "json", "markdown"]), default="table", show_default=True)
def gate(candidate: str, baseline: str | None, best_of: int | None, policy: str | None, waivers: tuple[str, ...],
         suite: tuple[str, ...], rerun: int, again: tuple[str, ...], cause: str, form: str) -> int:  # fmt: skip
    """Judge a release by a policy. Exit 0: it may ship, 1: something blocks, 3: nothing can be concluded.

    Example: conformance gate --candidate sim-1.1 --baseline sim-1.0
    """
    if baseline and best_of:
        raise UsageError("--best-of cannot be given with --baseline: one names what the other looks for")
    rules = policies.load(Path(policy)) if policy else policies.shipped()
    question = Question(
        candidate=candidate, baseline=baseline or "", best_of=best_of or 1, suites=suite, day=today(),
        files=tuple(map(Path, waivers)), again=again,
    )  # fmt: skip
    with store.open_store() as opened:
        verdict = judge(opened, question, rules)
        if rerun:
            question, verdict = _rerun(opened, question, rules, verdict, rerun)
        _remark(question, verdict)
        if cause:
            _say_tests(opened, verdict, cause)
        elif form == "markdown":
            click.echo(markdown.summary(verdict, question, policy or ""), nl=False)
        elif form == "json":
            screen.say_json(document(verdict, question, policy or "", today()))
        else:
            verdicts.show(verdict, question, policy or "", today())
    return screen.finish(verdict.word.code, screen.safe(sentence(verdict)))


def _rerun(opened: Store, question: Question, rules: Policy, verdict: Verdict, times: int) -> tuple[Question, Verdict]:
    # Imported late: a gate that runs nothing needs no engine.
    from conformance.cli import reruns

    if not reruns.worth_it(verdict):
        return question, verdict
    question = replace(question, again=(*question.again, *reruns.run_again(opened, verdict, times)))
    return question, judge(opened, question, rules)


def _remark(question: Question, verdict: Verdict) -> None:
    """Say which runs stand for each side, and that there are fewer releases than were asked for."""
    for each in (verdict.candidate, *verdict.baselines):
        for line in each.remarks:
            screen.remark(screen.safe(line))
    if not question.baseline and len(verdict.baselines) < question.best_of:
        found = len(verdict.baselines)
        screen.remark(f"there are {found} releases before the candidate, not {question.best_of}: all are compared with")


def _say_tests(opened: Store, verdict: Verdict, name: str) -> None:
    found = store.cause_named(verdict.causes, name)
    for key in store.keys_of(opened, found.numbers):
        screen.say(screen.safe(key))
