"""`conformance models`: a run's models counted, listed, and how many of the most downloaded architectures run."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from conformance.cli import documents, screen
from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.store import open_store
from sweeps.reports import counts, coverage, joined, listing
from sweeps.reports.counts import By, Count
from sweeps.reports.coverage import Coverage
from sweeps.reports.joined import NOT_PLANNED, Joined, Way
from sweeps.reports.listing import Asked, Listed

_WORDS = (*(each.word for each in Outcome), NOT_PLANNED)
_EVERY = 1 << 31


@click.command("models")
@click.option("--run", default="", metavar="RUN", help="A run id or a release's name.  [default: newest with models]")
@click.option("--by", type=click.Choice([each.value for each in By]), default=By.ARCHITECTURE.value, show_default=True)
@click.option("--coverage", "covered", is_flag=True, help="Of the most downloaded text-generation architectures.")
@click.option("--top", type=click.IntRange(1), default=coverage.MOST, show_default=True, help="Of --coverage.")
@click.option("--mode", default="", metavar="M", help="How the models were run.  [default: what the run has]")
@click.option("--dtype", default="", metavar="D", help="In which dtype.  [default: what the run has]")
@click.option("--outcomes", "words", default="", metavar="WORDS", help="Only models that ended so; with --by model.")
@click.option("--search", default="", metavar="TEXT", help="Only models whose id has this in it; with --by model.")
@click.option("--limit", type=click.IntRange(0), default=50, show_default=True, help="Rows of a table.")
@click.option("--format", "form", type=click.Choice(["table", "json", "ndjson", "csv"]), default="table",
              show_default=True, help="json, ndjson and csv have every row.")  # fmt: skip
def show_models(run: str, by: str, covered: bool, top: int, mode: str, dtype: str, words: str, search: str, limit: int,
                form: str) -> None:  # fmt: skip
    """Count a run's models by what they share, list them, or say how many architectures run.

    Example: conformance models --coverage
    """
    asked = Asked(text=search, outcomes=_outcomes(words))
    if asked != Asked() and (covered or by != By.MODEL):
        raise UsageError("--outcomes and --search list models: add --by model, and leave --coverage out")
    with open_store() as opened:
        found, remark = joined.required(opened, run)
        if remark:
            screen.remark(remark)
        way = found.way(mode, dtype)
        if covered:
            _say_coverage(found, coverage.coverage(opened, found, way.dtype, top), limit, form)
        elif by == By.MODEL:
            _say_models(found, way, asked, limit, form)
        else:
            _say_counts(found, way, By(by), limit, form)


def _outcomes(words: str) -> frozenset[str]:
    asked = frozenset(each.strip() for each in words.split(",") if each.strip())
    for each in asked:
        if each not in _WORDS:
            raise UsageError(f"unknown outcome {screen.safe(each, 60)!r}: choose from {', '.join(_WORDS)}")
    return asked


def _document(found: Joined, way: Way, **more: Any) -> dict[str, Any]:
    whole = counts.total(found, way)
    return {
        "run": documents.run_of(found.run), "simulated": found.run.simulated, "mode": way.mode, "dtype": way.dtype,
        "total": count_of(whole), **more,
    }  # fmt: skip


def count_of(each: Count) -> dict[str, Any]:
    """Counts as JSON has them."""
    return asdict(each) | {"eligible": each.eligible, "passed": each.passed, "right": each.right}


def _head(found: Joined, way: Way) -> None:
    run, whole = found.run, counts.total(found, way)
    label = " — simulated, not real hardware" if run.simulated else ""
    screen.say(f"run {screen.safe(run.uid)}: {screen.safe(run.release)} on {screen.safe(run.target)}{label}")
    told = ", ".join(f"{number:,} {word}" for word, number in whole.outcomes.items())
    screen.say(f"{whole.entries:,} models in {whole.signatures:,} signatures, {way.mode} {way.dtype}: {told}")
    screen.say(f"pass / eligible:              {screen.percent(whole.passed, whole.eligible)}")
    screen.say(f"(pass + fallback) / eligible: {screen.percent(whole.right, whole.eligible)}")
    screen.say()


def _say_counts(found: Joined, way: Way, by: By, limit: int, form: str) -> None:
    rows = counts.grouped(found, way, by)
    if form == "json":
        screen.say_json(_document(found, way, by=by.value, counts=[count_of(each) for each in rows]))
        return
    if form == "ndjson":
        screen.say_lines(count_of(each) | {"simulated": found.run.simulated} for each in rows)
        return
    words = _present(rows)
    heads = (by.value, "downloads", "models", "signatures", *words)
    if form == "csv":
        screen.say_csv((*heads, "simulated"), ((*_cells(each, words), int(found.run.simulated)) for each in rows))
        return
    _head(found, way)
    whole = counts.total(found, way)
    screen.say_table(heads, [*(_cells(each, words) for each in rows[:limit]), ("total", *_cells(whole, words)[1:])])
    screen.remark(f"{min(limit, len(rows)):,} of {len(rows):,} rows, and the total of all")


def _present(rows: Sequence[Count]) -> list[str]:
    return [word for word in _WORDS if any(each.outcomes.get(word) for each in rows)]


def _cells(each: Count, words: Sequence[str]) -> tuple[object, ...]:
    numbers = (each.outcomes.get(word, 0) for word in words)
    return (each.label or "(none)", each.downloads, each.entries, each.signatures, *numbers)


def _say_models(found: Joined, way: Way, asked: Asked, limit: int, form: str) -> None:
    page = listing.listing(found, way, asked, limit=limit if form == "table" else _EVERY)
    heads = ("id", "downloads", "architecture", "family", "signature", "outcome", "rule")
    if form == "json":
        screen.say_json(_document(found, way, models=[asdict(each) for each in page.rows]))
    elif form == "ndjson":
        screen.say_lines(asdict(each) | {"simulated": found.run.simulated} for each in page.rows)
    elif form == "csv":
        screen.say_csv((*heads, "simulated"), ((*_row(each, heads), int(found.run.simulated)) for each in page.rows))
    else:
        _head(found, way)
        screen.say_table(heads, [_row(each, heads) for each in page.rows])
        screen.remark(f"{len(page.rows):,} of {page.total:,} models")


def _row(each: Listed, heads: Sequence[str]) -> tuple[object, ...]:
    return tuple(getattr(each, name) for name in heads)


def _say_coverage(found: Joined, made: Coverage, limit: int, form: str) -> None:
    rows = [asdict(each) for each in made.architectures]
    if form == "json":
        screen.say_json({"run": documents.run_of(found.run), "simulated": found.run.simulated, **asdict(made)})
    elif form == "ndjson":
        screen.say_lines(each | {"simulated": found.run.simulated} for each in rows)
    elif form == "csv":
        screen.say_csv(
            ("rank", "architecture", "downloads", "mode", "outcome", "lacks", "simulated"),
            ((each.rank, each.architecture, each.downloads, mode, ended.outcome, ended.lacks, int(found.run.simulated))
             for each in made.architectures for mode, ended in each.modes.items()),
        )  # fmt: skip
    else:
        _head(found, found.way("", made.dtype))
        _coverage_table(made, limit)


def _coverage_table(made: Coverage, limit: int) -> None:
    asked = f"the {len(made.architectures):,} most downloaded of {made.known:,} text-generation architectures"
    screen.say(f"{asked}, {made.dtype}:")
    screen.say_table(
        ("mode", "pass / eligible", "(pass + fallback) / eligible", "of all", "outcomes"),
        [(each.mode, screen.percent(each.passed, each.eligible), screen.percent(each.right, each.eligible),
          each.architectures, ", ".join(f"{number} {word}" for word, number in each.outcomes.items()))
         for each in made.shares],
    )  # fmt: skip
    screen.say(f"{made.unnamed:,} more text-generation models tell neither class nor model type")
    screen.say()
    missing = coverage.lacking(made)
    screen.say_table(
        ("rank", "architecture", "downloads", "modes", "outcome", "lacks"),
        [(each.rank, each.architecture, each.downloads, ", ".join(modes), ended.outcome, screen.safe(ended.lacks, 160))
         for each, modes, ended in missing[:limit]],
    )  # fmt: skip
    screen.remark(f"{min(limit, len(missing)):,} of {len(missing):,} that lack something")
