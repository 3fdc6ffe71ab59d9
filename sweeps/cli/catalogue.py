"""`conformance catalogue`: lists of models made from what a user has, and looked at."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from conformance.cli import screen
from sweeps import catalogue as catalogues
from sweeps import hub, importing
from sweeps.catalogue import Entry, Unreadable
from sweeps.importing import Imported


@click.group("catalogue")
def catalogue() -> None:
    """Make and look at catalogues: lists of models for suite `models`.

    Example: conformance catalogue import my-models.txt --out mine.jsonl.gz
    """


@catalogue.command("import")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="FILE", help="A .jsonl or .jsonl.gz.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def import_catalogue(source: Path, out: Path, form: str) -> None:
    """Write a catalogue from SOURCE: JSON lines, a folder of config.json files, one of them, or a .txt of ids.

    Ids are resolved on the Hugging Face Hub: config.json, task and downloads are asked for, nothing else.
    """
    done = importing.write(_rows(source), out, lambda number: screen.remark(f"{number:,} rows …"))
    if form == "json":
        screen.say_json(_document(done, out))
        return
    screen.say(f"{done.entries:,} entries written to {screen.safe(str(out))}")
    if done.repeated:
        screen.say(f"{done.repeated:,} of them have an id that was there before")
    if done.unreadable:
        screen.say(f"{done.unreadable:,} rows are no entries and were left out:")
        screen.say_table(("row", "reason"), [(screen.safe(each.id, 80), each.reason) for each in done.named])
        if done.unreadable > len(done.named):
            screen.say(f"and {done.unreadable - len(done.named):,} more")


def _rows(source: Path) -> Iterator[Entry | Unreadable]:
    if source.name.endswith(".txt"):
        return hub.resolved(hub.ids_of(source))
    return catalogues.read(source, "SOURCE")


def _document(done: Imported, out: Path) -> dict[str, Any]:
    named = [{"row": each.id, "reason": each.reason} for each in done.named]
    counts = {"entries": done.entries, "repeated": done.repeated, "unreadable": done.unreadable}
    return {"out": str(out), **counts, "named": named}


@dataclass(kw_only=True, slots=True)
class _Type:
    entries: int = 0
    downloads: int = 0
    origins: Counter[str] = field(default_factory=Counter)

    def add(self, other: "_Type") -> None:
        """Take over what another counted."""
        self.entries += other.entries
        self.downloads += other.downloads
        self.origins.update(other.origins)


@catalogue.command("show")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--limit", type=click.IntRange(0), default=50, show_default=True, help="Types in a table.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def show_catalogue(path: Path | None, limit: int, form: str) -> None:
    """Count the entries of a catalogue by model type; the shipped one when no PATH is given."""
    types, unreadable = dict[str, _Type](), 0
    for row in catalogues.read(path or catalogues.SHIPPED, "PATH"):
        if isinstance(row, Unreadable):
            unreadable += 1
        else:
            _count(types.setdefault(_type_of(row), _Type()), row)
    ranked = sorted(types, key=lambda name: (-types[name].entries, name))
    if form == "json":
        counted = [{"model_type": name, **_counts(types[name])} for name in ranked]
        screen.say_json(
            {"entries": sum(each.entries for each in types.values()), "unreadable": unreadable, "types": counted}
        )
        return
    rows = [_row(name or "(none told)", types[name]) for name in ranked]
    total = _Type()
    for each in types.values():
        total.add(each)
    heads = ("model type", "entries", "downloads", "config", "dims", "neither")
    screen.say_table(heads, [*rows[:limit], _row("total", total)] if rows else [])
    screen.remark(f"{min(limit, len(rows)):,} of {len(rows):,} model types; {unreadable:,} rows are no entries")


def _row(name: str, found: _Type) -> tuple[object, ...]:
    return (name, *_counts(found).values())


def _type_of(row: Entry) -> str:
    told = row.model_type or (row.config or {}).get("model_type") or row.architecture
    return told if isinstance(told, str) else ""


def _count(found: _Type, row: Entry) -> None:
    found.entries += 1
    found.downloads += row.downloads
    found.origins["config" if row.config is not None else "dims" if row.dims else "neither"] += 1


def _counts(found: _Type) -> dict[str, int]:
    return {
        "entries": found.entries, "downloads": found.downloads,
        **{name: found.origins[name] for name in ("config", "dims", "neither")},
    }  # fmt: skip
